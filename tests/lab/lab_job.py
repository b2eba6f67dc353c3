# SPDX-License-Identifier: BSD-3-Clause
"""Jobs on the hosts of a lab, for its tests."""
import os
import re
import select
import signal
import subprocess
import time

from lab_case import LAB, LIMIT, SILENCE, LabCase
from heraldlab import hosts, jobs, tool


def engines():
    """The installed launchers."""
    found = []
    for engine in jobs.ENGINES:
        try:
            jobs.find_engine(engine)
            found.append(engine)
        except tool.LabError:
            pass
    return found


class Job(LabCase):
    def setUp(self):
        super().setUp()
        self.engines = engines()
        if not self.engines:
            self.skipTest('neither mpirun of Open MPI nor Hydra is installed')
        # Varies, if the test does not name one.
        self.engine = self.engines[sum(map(ord, self.id())) % len(self.engines)]

    @staticmethod
    def options_of(ranks, env):
        return (['-n', str(ranks)] if ranks else []) + [word for pair in env for word in ('--env', pair)]

    def run_job(self, *words, ranks=None, engine=None, env=(), limit=90):
        """Runs a job that must pass."""
        more = self.options_of(ranks, env)
        done = self.lab('run', '--engine', engine or self.engine, '--timeout', limit, *more, *words, code=None)
        self.assertEqual(done.returncode, 0, f'{engine}: {done.stdout}\n{done.stderr}')
        self.assertIn('passed', done.stdout)
        return done

    def job(self, *words, **more):
        """The output of a job that must pass."""
        return self.run_job(*words, **more).stdout

    def begin(self, *words, ranks=None, env=(), limit=90):
        """Starts a job and waits for its first round."""
        more = self.options_of(ranks, env)
        child = subprocess.Popen([LAB, 'run', '--name', self.name, '--engine', self.engine, '--timeout', str(limit), *more, *words],
                                 stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, stdin=SILENCE)
        self.addCleanup(self.finish, child)
        before = []
        line = child.stdout.readline()
        while line and not line.endswith('started\n'):  # behind the beginning of another rank's line, perhaps
            before.append(line)
            line = child.stdout.readline()
        self.assertTrue(line, 'the job did not start: ' + ''.join(before))
        return child

    @staticmethod
    def read_until(child, pattern, seconds):
        """(output, time of the first line that matches): reads the output of a job until a line matches, or the job has
        ended, or so many seconds have passed; then the time is None."""
        out, end = '', time.monotonic() + seconds
        os.set_blocking(child.stdout.fileno(), False)
        while time.monotonic() < end:
            ended = child.poll() is not None
            select.select([child.stdout], [], [], 0.05)
            data = os.read(child.stdout.fileno(), 1 << 16).decode(errors='replace') if select.select([child.stdout], [], [], 0)[0] else ''
            out += data
            if any(re.search(pattern, line) for line in out.splitlines()):
                return out, time.time()
            if ended and not data:
                break
        return out, None

    @staticmethod
    def finish(child):
        if child.poll() is None:
            child.send_signal(signal.SIGTERM)
        child.wait(LIMIT)
        child.stdout.close()

    def must_pass(self, child):
        out, _ = child.communicate(timeout=LIMIT)
        self.assertEqual(child.returncode, 0, out)
        self.assertIn('passed', out)
        return int(re.search(r'(\d+) rounds', out).group(1))

    def nothing_runs(self, program):
        name = os.path.basename(program)
        return not [pid for pid in hosts.members(self.name) if tool.read(f'/proc/{pid}/comm').strip() == name]
