# SPDX-License-Identifier: BSD-3-Clause
"""Jobs on different hosts that meet. What could go wrong: a port names an address that the other host cannot reach; the
processes of the two jobs do not find each other; a job that is over leaves the other waiting."""
import os
import subprocess
import tempfile

from lab_case import BUILD, LIMIT, LabCase, main

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


if __name__ == '__main__':
    main()
