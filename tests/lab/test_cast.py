#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What could go wrong with `herald cast`: wrong data, a missing file, an interrupted copy that starts anew or keeps wrong
data, a host that cannot write and blocks the others or is not named; named hosts that are not reached, because mpiexec
does not execute an installed launcher."""
import hashlib
import os
import re
import shutil
import tempfile

from lab_case import BUILD, LabCase, main
from lab_job import engines
from heraldlab import jobs

HERALD = BUILD + '/bin/herald'
BLOCK = 4 << 20

# Open MPI's mpirun sometimes prints this about itself.
OF_MPIRUN = re.compile(r'^\[\S+\] plm:rsh: Warning: setpgid.*\n', re.MULTILINE)


def sum_of(path):
    with open(path, 'rb') as file:
        return hashlib.sha256(file.read()).hexdigest()


class Cast(LabCase):
    hosts = 4

    def setUp(self):
        super().setUp()
        if not engines():
            self.skipTest('neither mpirun of Open MPI nor Hydra is installed')
        self.engine = engines()[-1]
        self.folder = tempfile.mkdtemp(prefix='herald-cast-')
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        # Lab hosts share files, so each has its own folder.
        self.paths = [f'{self.folder}/h{i}/' for i in (2, 3, 4)]
        for path in self.paths:
            os.makedirs(path)

    def make(self, name, size):
        path = f'{self.folder}/{name}'
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, 'wb') as file:
            file.write(os.urandom(size))
        return path

    def cast(self, source, *more, code=0, paths=None):
        words = [HERALD, 'cast', *more, source, *(paths or self.paths)]
        done = self.lab('run', '--engine', self.engine, '--timeout', 60, *words, code=None)
        self.assertEqual(done.returncode == 0, code == 0, done.stdout + done.stderr)
        return done.stdout + done.stderr

    def test_file_and_interrupted_copy(self):
        source = self.make('data', 2 * BLOCK + 12345)
        text = self.cast(source, '--verify')
        self.assertIn('to 3 hosts', text)
        for path in self.paths:
            self.assertEqual(sum_of(path + 'data'), sum_of(source))
            self.assertEqual(os.listdir(path), ['data'])
        # Interrupted after the first block on one host, after the second on another; complete on the third.
        for path, blocks in zip(self.paths, (1, 2)):
            os.rename(path + 'data', path + 'data.herald-part')
            os.truncate(path + 'data.herald-part', blocks * BLOCK + 77)
        text = self.cast(source)
        self.assertIn('existed already', text)
        for path in self.paths:
            self.assertEqual(sum_of(path + 'data'), sum_of(source))
        # One byte of the existing file is wrong.
        with open(self.paths[0] + 'data', 'r+b') as file:
            file.write(b'\0\1\2\3\4\5\6\7')
        self.assertNotIn('existed already', self.cast(source))
        for path in self.paths:
            self.assertEqual(sum_of(path + 'data'), sum_of(source))

    def reach_through(self, engine):
        """Variables with which mpiexec finds only this launcher, and the launcher finds the hosts of the lab."""
        if engine == 'mpirun':
            return ['OMPI_MCA_plm_rsh_agent=' + jobs.AGENT, 'OMPI_MCA_plm_rsh_no_tree_spawn=1', 'OMPI_ALLOW_RUN_AS_ROOT=1',
                    'OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1']
        folder = self.folder + '/bin'  # without mpirun
        os.makedirs(folder)
        for name in ('mpiexec.hydra', 'hydra_pmi_proxy', 'sh', 'grep', 'nsenter'):
            os.symlink(shutil.which(name), f'{folder}/{name}')
        return ['PATH=' + folder, 'HYDRA_LAUNCHER=ssh', 'HYDRA_LAUNCHER_EXEC=' + jobs.AGENT]

    def test_named_hosts_are_reached_by_an_installed_launcher(self):
        source = self.make('data', BLOCK + 4321)
        targets = [f'{host}:{path}' for host, path in zip(('h2', 'h3', 'h4'), self.paths)]
        for engine in engines():
            words = ['exec', '--timeout', 60, 'h1', 'env', *self.reach_through(engine), HERALD, 'cast']
            done = self.lab(*words, source, *targets)
            self.assertIn('handing over to ' + {'mpirun': 'mpirun.openmpi', 'hydra': 'mpiexec.hydra'}[engine], done.stderr)
            self.assertIn('to 3 hosts', done.stderr)
            self.assertNotIn('warning', done.stderr)
            for path in self.paths:
                self.assertEqual(sum_of(path + 'data'), sum_of(source))
                os.remove(path + 'data')
            done = self.lab(*words, '--quiet', source, *targets)
            self.assertEqual(done.stdout + OF_MPIRUN.sub('', done.stderr), '')
            # An unknown host is an error. Hydra waits for it without end: the timeout ends that.
            words[2] = 8
            done = self.lab(*words, source, 'h9:' + self.paths[0], code=None)
            self.assertNotIn(done.returncode, (0, 124) if engine == 'mpirun' else (0,))
            for path in self.paths:
                os.remove(path + 'data')

    def test_folder(self):
        for name, size in (('tree/a', 100), ('tree/b/empty', 0), ('tree/b/c/long', 300_000)):
            self.make(name, size)
        os.symlink('a', self.folder + '/tree/link')
        os.chmod(self.folder + '/tree/a', 0o750)
        self.cast(self.folder + '/tree')
        for path in self.paths:
            for name in ('a', 'b/empty', 'b/c/long'):
                self.assertEqual(sum_of(f'{path}tree/{name}'), sum_of(f'{self.folder}/tree/{name}'))
            self.assertEqual(os.readlink(path + 'tree/link'), 'a')
            self.assertEqual(os.stat(path + 'tree/a').st_mode & 0o777, 0o750)

    def test_host_that_cannot_write_is_named_and_others_get_the_copy(self):
        source = self.make('data', 100_000)
        text = self.cast(source, code=1, paths=[self.paths[0], '/proc/no/such', self.paths[2]])
        self.assertIn('host h3: /proc/no/such', text)
        for path in (self.paths[0], self.paths[2]):
            self.assertEqual(sum_of(path + 'data'), sum_of(source))
        text = self.cast(source, code=1, paths=[self.paths[0], '/dev/full/', self.paths[2]])
        self.assertIn('host h3:', text)
        self.assertIn('no/where', self.cast(self.folder + '/no/where', code=1))


if __name__ == '__main__':
    main()
