# SPDX-License-Identifier: BSD-3-Clause
"""Files that ranks on several hosts share: all hosts of the lab see the directories of this machine. What could go wrong:
a rank reads what another host has not written yet, aggregators of two hosts write the same bytes, a shared pointer gives
two ranks the same place, a lost packet leaves a collective access waiting. The file is compared with a copy in memory."""
import os
import tempfile

from lab_case import BUILD, main
from lab_job import Job

RANDOM = BUILD + '/tests/programs/io_random'
FILES = BUILD + '/tests/programs/io_files'
COLLECTIVE = BUILD + '/tests/programs/io_collective'
STEPS = '60'


class Four(Job):
    hosts = 4

    def run_all(self, *programs, ranks=4):
        with tempfile.TemporaryDirectory() as folder:
            for words in programs:
                self.job(*words, ranks=ranks, env=(f'HERALD_TEST_DIR={folder}',))
            self.assertEqual(os.listdir(folder), [])  # nothing is stored beside a file, none is left

    def test_random_access(self):
        self.run_all((RANDOM, '1', STEPS), (RANDOM, '2', STEPS), (COLLECTIVE,))

    def test_two_ranks_per_host(self):
        self.run_all((FILES,), (RANDOM, '3', STEPS), (COLLECTIVE,), ranks=8)

    def test_losses(self):
        self.lab('fault', 'loss', '3%')
        self.run_all((FILES,), (RANDOM, '4', STEPS), (COLLECTIVE,))


if __name__ == '__main__':
    main()
