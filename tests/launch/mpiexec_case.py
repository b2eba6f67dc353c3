# SPDX-License-Identifier: BSD-3-Clause
"""Common code of the tests that run the real mpiexec: test_X.py MPIEXEC SOURCE_DIR [unittest arguments].

Time limits are generous: only a hang exceeds them.
"""
import glob
import os
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest

MPIEXEC = os.path.abspath(sys.argv.pop(1))
SOURCE = os.path.abspath(sys.argv.pop(1))
PY = sys.executable
LIMIT = 120

# A minimal client of the PMI-1 protocol.
PMI = textwrap.dedent("""
    import os, socket, sys, time
    s = socket.socket(fileno=int(os.environ['PMI_FD']))
    f = s.makefile('rw', newline='\\n')
    def ask(line):
        f.write(line + '\\n'); f.flush()
        return dict(w.split('=', 1) for w in f.readline().split())
    def say(line):
        f.write(line + '\\n'); f.flush()
    rank, size = int(os.environ['PMI_RANK']), int(os.environ['PMI_SIZE'])
    def init():
        assert ask('cmd=init pmi_version=1 pmi_subversion=1')['rc'] == '0'
        return ask('cmd=get_my_kvsname')['kvsname']
""")


def clean_env(**extra):
    drop = ("PMI", "SLURM_", "HERALD_", "HYDRA_", "OMPI_", "PRTE_", "MPIEXEC_")
    env = {k: v for k, v in os.environ.items() if not k.startswith(drop)}
    env.update(extra)
    return env


def alive(pid):
    stat = text_of(f"/proc/{pid}/stat")
    return bool(stat) and stat.rsplit(")", 1)[1].split()[0] not in "ZX"


def text_of(path):
    try:
        with open(path) as file:
            return file.read()
    except (FileNotFoundError, ProcessLookupError):
        return ""


def wait_until(condition, limit=LIMIT):
    end = time.monotonic() + limit
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


class Case(unittest.TestCase):
    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="mpiexec-test-")
        self.addCleanup(shutil.rmtree, self.dir, ignore_errors=True)

    def file(self, name, text="", mode=0o755):
        path = os.path.join(self.dir, name)
        with open(path, "w") as out:
            out.write(text)
        os.chmod(path, mode)
        return path

    def script(self, text, name="rank.py", pmi=True):
        return self.file(name, (PMI if pmi else "import os, sys, time\n") + textwrap.dedent(text))

    def run_job(self, *args, env=None, **kw):
        kw.setdefault("stdin", subprocess.DEVNULL)
        if "input" in kw:
            del kw["stdin"]
        done = subprocess.run([MPIEXEC, *map(str, args)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, timeout=LIMIT, env=env or clean_env(), **kw)
        return done

    def start(self, *args, env=None, **kw):
        kw.setdefault("stdin", subprocess.DEVNULL)
        job = subprocess.Popen([MPIEXEC, *map(str, args)], text=True, env=env or clean_env(), **kw)
        self.addCleanup(self.stop, job)
        return job

    @staticmethod
    def stop(job):
        if job.poll() is None:
            job.kill()
        job.wait(LIMIT)
        for stream in (job.stdout, job.stderr, job.stdin):
            if stream:
                stream.close()

    def pids(self, count):
        """Waits until `count` ranks have written pid files; returns their pids."""
        pattern = os.path.join(self.dir, "pid.*")
        found = lambda: [text_of(p) for p in glob.glob(pattern)]
        self.assertTrue(wait_until(lambda: len([t for t in found() if t.endswith(".")]) == count), "ranks did not start")
        return [int(t[:-1]) for t in found()]

    def sleeper(self, before="", seconds=100):
        """A shell command that writes its pid to a file and sleeps in a child."""
        return f'{before} printf "%s." $$ > {self.dir}/pid.$PMI_RANK; sleep {seconds} & wait'
