#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""top.py MPIEXEC HERALD PROGRAM: `herald top` on a running job.
What could go wrong: states or rates are wrong; ranks behind a remote shell are missing; a plain frame has escape
sequences; NO_COLOR is ignored; Ctrl-C leaves the terminal changed; the job is disturbed, or its end not noticed."""
import os
import pty
import re
import select
import signal
import subprocess
import sys
import tempfile
import termios
import time

MPIEXEC, HERALD, PROGRAM = sys.argv[1:4]
LIMIT = 100
RANKS = 5


def fail(text, output=""):
    sys.exit(f"failed: {text} in:\n{output}")


def expect(output, *patterns):
    for pattern in patterns:
        if not re.search(pattern, output, re.M):
            fail(f"no {pattern!r}", output)


class Job:
    def __init__(self, *options):
        self.process = subprocess.Popen([MPIEXEC, "-n", str(RANKS), *options, PROGRAM], stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True)
        if "ready" not in self.process.stdout.readline():
            fail("the program did not start", self.process.stderr.read())

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.send_signal(signal.SIGTERM)
        self.process.communicate(timeout=LIMIT)

    def name(self):
        """In the environment of a child of mpiexec."""
        children = subprocess.run(["ps", "-o", "pid=", "--ppid", str(self.process.pid)], capture_output=True, text=True)
        for pid in children.stdout.split():
            with open(f"/proc/{pid}/environ") as file:
                if found := re.search(r"HERALD_JOB_ID=(\w+)", file.read()):
                    return found.group(1)
        fail("no child of mpiexec has HERALD_JOB_ID")


def frame(name, *patterns):
    """A frame that shows all of it: a busy machine may need a few."""
    deadline = time.monotonic() + LIMIT
    while True:
        done = subprocess.run([HERALD, "top", "--once", "-i", "0.5", name], capture_output=True, text=True, timeout=LIMIT)
        if done.returncode == 0 and all(re.search(each, done.stdout, re.M) for each in patterns):
            return done.stdout
        if time.monotonic() > deadline:
            expect(done.stdout + done.stderr, *patterns)
            fail(f"exit code {done.returncode}", done.stdout + done.stderr)


STATES = (rf"^job \w+: {RANKS} ranks on 1 host", r"^ +0 computes ",
          r"^ +1 waits .*MPI_Recv from 0, tag 7, MPI_COMM_WORLD, \d", r"^ +[23] talks +[1-9]",
          r"^ +4 sends .*MPI_Ssend to 0, tag 8", r"^shm +sent [1-9][\d.]*k? packets/s, [1-9]")


def test_states():
    with Job() as job:
        text = frame(job.name(), *STATES)
        if "\033" in text:
            fail("escape sequences", text)


def test_unknown_job():
    done = subprocess.run([HERALD, "top", "--once", "nosuch"], capture_output=True, text=True, timeout=LIMIT)
    if done.returncode != 1 or "no job nosuch on this host" not in done.stderr:
        fail(f"exit code {done.returncode}", done.stderr)


class Screen:
    """`herald top` on a terminal."""

    def __init__(self, name, **env):
        main, self.inner = pty.openpty()
        self.fd, self.text = main, ""
        self.before = termios.tcgetattr(self.inner)
        self.process = subprocess.Popen([HERALD, "top", "-i", "0.3", name], stdin=self.inner, stdout=self.inner,
                                        stderr=self.inner, start_new_session=True, env={**os.environ, "TERM": "xterm", **env},
                                        preexec_fn=lambda: __import__("fcntl").ioctl(0, termios.TIOCSCTTY, 0))

    def read_until(self, pattern):
        deadline = time.monotonic() + LIMIT
        while not re.search(pattern, self.text):
            if select.select([self.fd], [], [], 0.2)[0]:
                self.text += os.read(self.fd, 65536).decode()
            if time.monotonic() > deadline:
                fail(f"no {pattern!r}", repr(self.text))

    def check_left(self):
        self.read_until(re.escape("\033[?25h\033[?1049l"))
        if self.process.wait(timeout=LIMIT) != 0:
            fail(f"exit code {self.process.returncode}", repr(self.text))
        if termios.tcgetattr(self.inner) != self.before:
            fail("the terminal has other settings than before")
        os.close(self.fd)
        os.close(self.inner)


def test_terminal():
    with Job() as job:
        for key, env in ((b"\x03", {"NO_COLOR": ""}), (b"q", {"NO_COLOR": "1"})):
            screen = Screen(job.name(), **env)
            screen.read_until(r"MPI_Recv from 0")
            if termios.tcgetattr(screen.inner)[3] & termios.ECHO:
                fail("keys are echoed")
            if ("\033[33m" in screen.text) == bool(env["NO_COLOR"]):
                fail("colours against NO_COLOR", repr(screen.text))
            os.write(screen.fd, key)
            screen.check_left()
        if job.process.poll() is not None:
            fail("the job has ended")
        screen = Screen(job.name())
        screen.read_until(r"MPI_Recv from 0")
    screen.read_until("has ended")
    screen.check_left()


# A remote shell into a PID namespace of its own: its ranks cannot be seen from here. The first call for a host makes the
# namespace; its ranks start when the later calls can find it.
AGENT = """#!/bin/bash
host=$1; shift
inside=$(cat {folder}/$host 2>/dev/null)
if [ -n "$inside" ]; then exec nsenter -t $inside -p -m sh -c "$*"; fi
unshare --pid --fork --mount-proc sh -c "until [ -s {folder}/$host ]; do sleep 0.02; done; $*; true" <&0 &
until pgrep -P $! > {folder}/$host.new; do :; done
mv {folder}/$host.new {folder}/$host
wait $!
"""


def test_other_hosts():
    if os.geteuid() != 0 or subprocess.run(["unshare", "--pid", "--fork", "--mount-proc", "true"]).returncode != 0:
        print("skipped: no PID namespaces")
        return
    with tempfile.TemporaryDirectory() as folder:
        agent = os.path.join(folder, "agent")
        with open(agent, "w") as file:
            file.write(AGENT.format(folder=folder))
        os.chmod(agent, 0o755)
        with Job("--engine", "ssh", "--rsh-agent", agent, "--host", "first:3,second:2") as job:
            name = job.name()
            frame(name, *STATES[1:4], r"^ +4 sends")
            done = subprocess.run([HERALD, "ps", name], capture_output=True, text=True, timeout=LIMIT)
            expect(done.stdout + done.stderr, r"rank 1 on \S+: MPI_Recv from 0", r"rank 4 on \S+: MPI_Ssend to 0")
            listed = subprocess.run([HERALD, "ps"], capture_output=True, text=True, timeout=LIMIT).stdout
            expect(listed, f"^{name} ")


for test in (test_states, test_unknown_job, test_terminal, test_other_hosts):
    test()
print("passed")
