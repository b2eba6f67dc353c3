#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""knobs_differ.py MPIEXEC PROGRAM: what could go wrong when ranks have different values of a knob that must be equal on
all of them: the job hangs, runs with wrong data, or the error does not name the knob, the ranks and the values; a knob
that may differ is refused."""
import os
import subprocess
import sys
import unittest

MPIEXEC, PROGRAM = sys.argv[1:]
del sys.argv[1:]


def run(name, *values):
    """One rank with each value."""
    env = {k: v for k, v in os.environ.items() if not k.startswith('HERALD_')}
    words = []
    for value in values:
        words += [':', '-n', '1', '-env', name, value, PROGRAM]
    return subprocess.run([MPIEXEC, *words[1:]], env=env, capture_output=True, text=True, timeout=60, check=False)


class KnobsDiffer(unittest.TestCase):
    def assert_refused(self, done, words):
        self.assertNotEqual(done.returncode, 0)
        self.assertNotIn('passed', done.stdout)
        self.assertRegex(done.stderr, 'MPI_Init: .*' + words)

    def test_error_names_knob_ranks_and_values(self):
        self.assert_refused(run('HERALD_COLL', 'bcast=chain', 'bcast=binary', 'bcast=chain', 'bcast=binary'),
                            'HERALD_COLL must be equal on all ranks: it is "bcast=chain" on ranks 0, 2 and '
                            '"bcast=binary" on ranks 1, 3')

    def test_ranks_that_take_different_paths_do_not_hang(self):
        self.assert_refused(run('HERALD_PATH', 'udp', 'shm', 'shm'),
                            'HERALD_PATH must be equal .* "udp" on rank 0 and "shm" on ranks 1-2')

    def test_equal_after_reading_is_equal(self):
        done = run('HERALD_COLL_SEGMENT_BYTES', '65536', '64k')
        self.assertEqual((done.returncode, 'passed' in done.stdout), (0, True), done.stderr)

    def test_other_knobs_may_differ(self):
        done = run('HERALD_SPIN_US', '0', '10', '-1')
        self.assertEqual((done.returncode, done.stderr, 'passed' in done.stdout), (0, '', True))


if __name__ == '__main__':
    unittest.main()
