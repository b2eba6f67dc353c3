# SPDX-License-Identifier: BSD-3-Clause
"""A Slurm cluster of one node with its own munge, in a private directory and on loopback only.

    with Cluster(directory) as cluster:   raises CannotStart with the reason
        subprocess.run(["srun", "--mpi=pmix", ...], env=dict(os.environ, **cluster.environment))

Nothing of the machine's own Slurm or munge is read or written.
"""
import os
import pwd
import shutil
import signal
import socket
import subprocess
import time

PROGRAMS = ("munged", "slurmctld", "slurmd", "srun", "sinfo", "scancel")
START_S = 30.0


class CannotStart(Exception):
    pass


def find_program(name):
    """Finds daemons in sbin too, which is not in every user's PATH."""
    return shutil.which(name, path=os.environ.get("PATH", "") + ":/usr/sbin:/sbin:/usr/local/sbin")


def missing():
    """The reason why no cluster can run here, or None."""
    absent = [name for name in PROGRAMS if find_program(name) is None]
    if absent:
        return f"not installed: {', '.join(absent)} (packages slurmctld slurmd slurm-client munge)"
    return None


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


CONFIG = """\
ClusterName=herald-test
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
SlurmctldPort={control_port}
SlurmdPort={node_port}
CommunicationParameters=NoCtldInAddrAny,NoInAddrAny
AuthType=auth/munge
AuthInfo=socket={directory}/munge/socket
CredType=cred/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/builtin
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
JobCompType=jobcomp/none
StateSaveLocation={directory}/state
SlurmdSpoolDir={directory}/spool
SlurmctldPidFile={directory}/slurmctld.pid
SlurmdPidFile={directory}/slurmd.pid
SlurmctldLogFile={directory}/slurmctld.log
SlurmdLogFile={directory}/slurmd.log
TmpFS={directory}/tmp
ReturnToService=2
KillWait=2
SlurmdParameters=config_overrides
NodeName=herald NodeAddr=127.0.0.1 NodeHostname={host} Port={node_port} CPUs=64 State=UNKNOWN
PartitionName=all Nodes=herald Default=YES MaxTime=INFINITE State=UP
"""


class Cluster:
    def __init__(self, directory):
        self.directory = os.path.join(directory, "s")
        self.environment = {"SLURM_CONF": os.path.join(self.directory, "slurm.conf")}
        self.daemons = []

    def __enter__(self):
        if reason := missing():
            raise CannotStart(reason)
        try:
            self.write_files()
            self.start_munge()
            self.start("slurmctld", "-D", "-f", self.environment["SLURM_CONF"])
            self.start("slurmd", "-D", "-N", "herald", "-f", self.environment["SLURM_CONF"])
            self.wait_until_idle()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_):
        self.close()

    def write_files(self):
        for name in ("", "munge", "state", "spool", "tmp"):
            os.makedirs(os.path.join(self.directory, name), mode=0o755, exist_ok=True)
        os.chmod(os.path.dirname(self.directory), 0o755)  # munge requires a path that other users can traverse
        with open(os.path.join(self.directory, "munge", "key"), "wb") as file:
            os.fchmod(file.fileno(), 0o400)
            file.write(os.urandom(128))
        control_port, node_port = free_ports(2)
        text = CONFIG.format(host=socket.gethostname().split(".")[0], user=pwd.getpwuid(os.geteuid()).pw_name,
                             directory=self.directory, control_port=control_port, node_port=node_port)
        with open(self.environment["SLURM_CONF"], "w", encoding="utf-8") as file:
            file.write(text)

    def start(self, name, *arguments):
        log = open(os.path.join(self.directory, f"{name}.out"), "wb")
        with log:
            self.daemons.append((name, subprocess.Popen(
                [find_program(name), *arguments], stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                env=dict(os.environ, **self.environment), start_new_session=True)))

    def start_munge(self):
        path = os.path.join(self.directory, "munge")
        self.start("munged", "--foreground", "--force", f"--key-file={path}/key", f"--socket={path}/socket",
                   f"--pid-file={path}/pid", f"--log-file={path}/log", f"--seed-file={path}/seed", "--num-threads=2")
        end = time.monotonic() + START_S
        while not os.path.exists(f"{path}/socket"):
            self.check(end)

    def wait_until_idle(self):
        end = time.monotonic() + START_S
        while True:
            answer = subprocess.run([find_program("sinfo"), "--noheader", "-o", "%T"], text=True, timeout=START_S,
                                    capture_output=True, env=dict(os.environ, **self.environment), check=False)
            if answer.stdout.strip() == "idle":
                return
            self.check(end)

    def check(self, end):
        """Raises if a daemon has exited or the time is over; otherwise sleeps briefly."""
        for name, process in self.daemons:
            if process.poll() is not None:
                raise CannotStart(f"{name} ended with code {process.returncode}:\n{self.logs()}")
        if time.monotonic() > end:
            raise CannotStart(f"no answer within {START_S:.0f} s:\n{self.logs()}")
        time.sleep(0.05)

    def logs(self):
        """The last log lines of the daemons."""
        text = ""
        for name in ("munged.out", "munge/log", "slurmctld.out", "slurmctld.log", "slurmd.out", "slurmd.log"):
            try:
                with open(os.path.join(self.directory, name), encoding="utf-8", errors="replace") as file:
                    if lines := file.readlines()[-15:]:
                        text += f"--- {name}\n" + "".join(lines)
            except OSError:
                pass
        return text

    def close(self):
        if len(self.daemons) == 3 and self.daemons[1][1].poll() is None:
            try:
                subprocess.run([find_program("scancel"), "--state=RUNNING", "-u", pwd.getpwuid(os.geteuid()).pw_name],
                               timeout=5, check=False, capture_output=True, env=dict(os.environ, **self.environment))
            except subprocess.TimeoutExpired:
                pass
        for _, process in reversed(self.daemons):
            if process.poll() is None:
                process.terminate()
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.send_signal(signal.SIGKILL)
                process.wait()
        self.daemons = []
