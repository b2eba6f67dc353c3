#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What could go wrong: a measured cluster whose predictions are wrong keeps the wrong algorithm; ranks take different
ones while they are tried; a later job does not know what was found, or a job without a measurement tries anything; the
sizes of messages do not follow the measurement."""
import os
import re
import subprocess
import sys
import tempfile
import unittest

BUILD, SOURCE = (os.path.abspath(path) for path in sys.argv[1:3])
del sys.argv[1:]
LIMIT = 120
RANKS = 4

PATH = ['O_s', 'g_s', 'L', 'L_pair', 'g_r', 'O_r', 'U_r']
HOST = ['M_ctc', 'M_ctm', 'M_mtm', 'reduce_integer', 'reduce_floating', 'checksum']


def link_mbit():
    """As the library finds it: of the interface with the default route, or of the first one."""
    with open('/proc/net/route') as file:
        routes = [line.split() for line in file.read().splitlines()[1:]]
    names = [words[0] for words in routes if words[1] == '00000000'] or [words[0] for words in routes]
    if not names:
        return 0
    try:
        with open(f'/sys/class/net/{names[0]}/speed') as file:
            return max(0, int(file.read()))
    except OSError:
        return 0


def model():
    """A cluster of this host that seems to be far faster than it is."""
    lines = ['herald-model 1', 'cluster test', f'hosts {os.uname().nodename}', f'kernel {os.uname().release}',
             f'link_mbit {link_mbit()}', 'host']
    lines += [f'{name} 0:1:0 65536:10:0' for name in HOST]
    lines += ['cache_bytes 262144', 'memory_bytes 8388608', 'fan_out_ns 0', 'wake_ns 10', 'spin_ns 1000',
              'B_L_bytes 0', 'repair_ns 0', 'interference_share 0', 'cores_count 2']
    for path in ('shm', 'direct', 'udp', 'tcp', 'mcast'):
        lines.append('path ' + path)
        lines += [f'{name} 0:1:0 65536:10:0' for name in PATH]
        lines += ['eager_bytes 65536', 'packet_bytes 1472']
    return '\n'.join(lines + ['end', ''])


class Trials(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        os.mkdir(self.folder.name + '/herald')
        self.file = self.folder.name + '/herald/test.model'

    def output(self, **settings):
        """What a job of one rank per host prints on stderr."""
        env = {k: v for k, v in os.environ.items() if not k.startswith('HERALD_')}
        env.update(XDG_CACHE_HOME=self.folder.name, **settings)
        done = subprocess.run([BUILD + '/bin/mpiexec', '-n', str(RANKS), '--pretend-hosts', '1',
                               BUILD + '/tests/programs/coll_trials'],
                              capture_output=True, text=True, env=env, timeout=LIMIT)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn('passed', done.stdout)
        return done.stderr

    def run_job(self):
        text = self.output(HERALD_EXPLAIN='1')
        self.assertNotIn('warning', text)
        return re.findall(r'herald: (\w+) of (\d+) bytes on 4 ranks was tried:(.*), (\w+) from now on', text)

    def kept(self):
        with open(self.file) as file:
            return [line.split() for line in file if line.startswith('tried ')]

    def test_candidates_are_tried_and_the_fastest_is_kept_for_later_jobs(self):
        with open(self.file, 'w') as file:
            file.write(model())
        found = self.run_job()
        self.assertGreaterEqual({name for name, *_ in found}, {'bcast', 'allreduce', 'alltoall'})
        for name, _, times, winner in found:
            measured = {one: float(us) for one, us in re.findall(r'(\w+) ([\d.]+) us', times)}
            self.assertGreater(len(measured), 1, times)  # the predictions were far too short
            self.assertLess(0.89 * measured[winner], min(measured.values()), times)
        kept = self.kept()
        self.assertIn(['bcast', '4', '4', '15'], [words[1:5] for words in kept])
        self.assertEqual(len({tuple(words[1:5]) for words in kept}), len(kept))
        self.assertEqual(self.run_job(), [])
        self.assertEqual(self.kept(), kept)

    def test_without_a_measurement_nothing_is_tried(self):
        self.assertEqual(self.run_job(), [])
        self.assertFalse(os.path.exists(self.file))

    def test_sizes_follow_the_measurement(self):
        self.assertNotIn('sizes by', self.output(HERALD_VERBOSE='1'))
        for old, new, expected in (('eager_bytes 65536', 'eager_bytes 131072', 'push 131072 bytes'),
                                   ('B_L_bytes 0', 'B_L_bytes 800000', '700000 bytes under way'),
                                   ('wake_ns 10', 'wake_ns 10000000', 'segments of 262144 bytes')):
            with open(self.file, 'w') as file:
                file.write(model().replace(old, new))
            text = self.output(HERALD_VERBOSE='1')
            self.assertEqual(text.count('herald: sizes by the measured model: '), 1, text)
            self.assertIn(expected, text)


if __name__ == '__main__':
    unittest.main()
