# SPDX-License-Identifier: BSD-3-Clause
"""A session: contains all processes that a test starts, so that none outlives it.

guarded(main) runs main() in a child process. The parent is the subreaper of its descendants: when the child has exited,
the parent ends the remaining processes and removes the session's directory. If the parent is killed, the child does so.
run_job() runs one launcher command under a time limit and reports processes that remain. It ends processes by their id,
and only if they descend from the session or have its variable in their environment.
"""
import ctypes
import os
import shutil
import signal
import subprocess
import tempfile
import time
import uuid

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
JOB_MARK = "HERALD_TEST_JOB"
# Variables of a launcher that runs this test must not reach the launchers under test.
FOREIGN = ("PMI_", "PMIX_", "PMI2_", "SLURM", "OMPI_", "ORTE_", "PRTE_", "HYDRA", "HYDI_", "MPI_LOCAL",
           "MPIEXEC_", "MPIR_")


def prctl(option, value):
    ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


def process_table():
    """{pid: (parent, state)}"""
    table = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", encoding="utf-8", errors="replace") as file:
                fields = file.read().rpartition(")")[2].split()
            table[int(name)] = (int(fields[1]), fields[0])
        except (OSError, IndexError, ValueError):
            pass
    return table


def descendants(root):
    """Running descendants of a process, without zombies."""
    table = process_table()
    found, front = [], [root]
    while front:
        parent = front.pop()
        children = [pid for pid, (above, _) in table.items() if above == parent and pid != root]
        front += children
        found += [pid for pid in children if table[pid][1] not in "ZX"]
    return found


def marked(mark):
    """Running processes whose environment has the variable of a job."""
    wanted = f"{JOB_MARK}={mark}".encode()
    found = []
    for pid, (_, state) in process_table().items():
        if state in "ZX" or pid == os.getpid():
            continue
        try:
            with open(f"/proc/{pid}/environ", "rb") as file:
                if wanted in file.read().split(b"\0"):
                    found.append(pid)
        except OSError:
            pass
    return found


def describe(pid):
    try:
        with open(f"/proc/{pid}/cmdline", "rb") as file:
            return f"{pid}: " + file.read().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return f"{pid}: gone"


def send(pid, number):
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def reap_children():
    """Reaps exited children."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0] != 0:
            pass
    except ChildProcessError:
        pass


def end_descendants(root, grace_s=5.0):
    for number, wait_s in ((signal.SIGTERM, grace_s), (signal.SIGKILL, grace_s)):
        end = time.monotonic() + wait_s
        signalled = set()
        while left := descendants(root):
            for pid in set(left) - signalled:
                send(pid, number)
                signalled.add(pid)
            if time.monotonic() > end:
                break
            reap_children()
            time.sleep(0.02)


class Interrupted(Exception):
    """Raised by a signal; unwinds through every `with` and `finally`."""


def stop(number, _frame):
    raise Interrupted(signal.Signals(number).name)


def guarded(main):
    """Runs main(directory) in a child and returns its exit code. See the top of this file."""
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    directory = tempfile.mkdtemp(prefix="hl-")
    guard = os.getpid()
    child = os.fork()
    if child == 0:
        code = 1
        try:
            prctl(PR_SET_CHILD_SUBREAPER, 1)
            prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
            for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
                signal.signal(number, stop)
            if os.getppid() == guard:
                code = main(directory)
        except Interrupted as reason:
            print(f"stopped by {reason}", flush=True)
        except BaseException:  # the child must not fall through into the guard's code
            import traceback
            traceback.print_exc()
        if os.getppid() != guard:  # the guard was killed: clean up here
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
            end_descendants(os.getpid())
            shutil.rmtree(directory, ignore_errors=True)
        os._exit(code)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda received, _frame: send(child, received))
    code = None
    while code is None:
        pid, status = os.waitpid(-1, 0)  # also reaps orphans of the session
        if pid == child:
            code = os.waitstatus_to_exitcode(status)
    end_descendants(guard)
    shutil.rmtree(directory, ignore_errors=True)
    return code if code >= 0 else 128 - code


def clean_environment(directory, extra=None):
    environment = {name: value for name, value in os.environ.items() if not name.startswith(FOREIGN)}
    environment["TMPDIR"] = directory
    environment.update(extra or {})
    return environment


class Result:
    def __init__(self, code, seconds, output, timed_out, leftovers):
        self.code, self.seconds, self.output = code, seconds, output
        self.timed_out, self.leftovers = timed_out, leftovers


# Input without data and without end of file: Hydra forwards the end of its input to the first host, and gets SIGPIPE if
# a short job is over by then.
SILENCE, _END = os.pipe()


def run_job(command, environment, directory, limit_s, stdin=SILENCE, echo=False, grace_s=12.0):
    """Runs a launcher. After it has exited, its processes have grace_s to exit; the rest is killed and reported."""
    mark = uuid.uuid4().hex
    # A separate directory: two mpirun of Open MPI that start at once conflict in a shared one.
    own = tempfile.mkdtemp(prefix="", dir=directory)
    environment = dict(environment, **{JOB_MARK: mark, "TMPDIR": own})
    begin = time.monotonic()
    with tempfile.TemporaryFile(dir=directory) as log:
        sink = None if echo else log
        process = subprocess.Popen(command, env=environment, stdin=stdin, stdout=sink,
                                   stderr=None if echo else subprocess.STDOUT, start_new_session=not echo)
        timed_out = False
        try:
            process.wait(limit_s)
        except subprocess.TimeoutExpired:
            timed_out = True
            process.terminate()
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        finally:
            if process.poll() is None:  # interrupted
                process.terminate()
        seconds = time.monotonic() - begin
        end = time.monotonic() + grace_s
        while (left := marked(mark)) and time.monotonic() < end:
            time.sleep(0.02)
        leftovers = [describe(pid) for pid in left]
        for pid in left:
            send(pid, signal.SIGKILL)
        log.seek(0)
        output = log.read().decode(errors="replace")
    return Result(process.returncode, seconds, output, timed_out, leftovers)
