# SPDX-License-Identifier: BSD-3-Clause
"""Jobs on different hosts that meet. What could go wrong: a port names an address that the other host cannot reach; the
processes of the two jobs do not find each other; a job that is over leaves the other waiting; broadcasts to both jobs
send single messages, or mix up which ranks a multicast reaches."""
import os
import subprocess
import tempfile

from lab_case import BUILD, LAB, LIMIT, SILENCE, LabCase, main
from lab_job import Job

MPIEXEC = BUILD + '/bin/mpiexec'
PROGRAM = BUILD + '/tests/programs/'


class Dynamic(LabCase):
    hosts = 2

    def job(self, host, *words):
        return self.start(host, MPIEXEC, '-n', *words, stderr=subprocess.STDOUT)

    def must_pass(self, jobs):
        for job in jobs:
            text = job.stdout.read()
            self.assertEqual(job.wait(LIMIT), 0, text)
            self.assertIn('passed', text)
            self.assertNotIn('failed', text)

    def test_jobs_on_two_hosts_connect(self):
        with tempfile.TemporaryDirectory() as folder:
            port = os.path.join(folder, 'port')
            self.must_pass([self.job('h1', '2', PROGRAM + 'dyn_connect', 'server', port),
                            self.job('h2', '3', PROGRAM + 'dyn_connect', 'client', port)])

    def test_a_job_spawns_on_its_host(self):
        self.must_pass([self.job('h2', '2', PROGRAM + 'dyn_spawn')])


class Workers(Job):
    """A master on one host, and workers on all: merged communicators use the lanes of the workers."""
    hosts = 3

    def one(self, *words):
        return subprocess.Popen([LAB, 'run', '--name', self.name, '--engine', self.engine, '--timeout', str(LIMIT),
                                 '--env', 'DYN_CASTS=1', *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                stdin=SILENCE)

    def test_merged_communicators_multicast(self):
        with tempfile.TemporaryDirectory() as folder:
            port = os.path.join(folder, 'port')
            jobs = [self.one('-n', '1', '--hosts', 'h1', PROGRAM + 'dyn_connect', 'server', port),
                    self.one('-n', '6', '--ppn', '2', PROGRAM + 'dyn_connect', 'client', port)]
            for job in jobs:
                text, _ = job.communicate(timeout=LIMIT + 30)
                self.assertEqual(job.returncode, 0, text)
                self.assertIn('passed', text)


if __name__ == '__main__':
    main()
