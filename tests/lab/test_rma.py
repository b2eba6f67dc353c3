#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What could go wrong between hosts: one-sided operations, partitions of messages or blocks of neighborhood collectives
that are lost, applied twice or out of order when packets are lost, duplicated or corrupted. With real sockets. Blocks
for neighbours behind one host leave one by one, with counts or without."""
from lab_case import BUILD, main
from lab_job import Job

WIRE = BUILD + '/tests/programs/neighbor_wire'
PROGRAMS = [BUILD + '/tests/programs/' + name for name in ('rma_windows', 'rma_random', 'rma_busy', 'partitioned', 'neighbor_random')]


class Four(Job):
    hosts = 4

    def run_all(self, ranks=4):
        for program in PROGRAMS:
            self.job(program, ranks=ranks)

    def test_one_rank_per_host(self):
        self.run_all()

    def test_two_ranks_per_host(self):
        self.run_all(8)

    def test_neighbours_behind_one_host_share_packets(self):
        self.job(WIRE, '8', '100', '60', ranks=16)

    def test_losses(self):
        self.lab('fault', 'loss', '3%')
        self.run_all()

    def test_duplicated_and_corrupted_packets(self):
        self.lab('fault', 'duplicate', '10%')
        self.lab('fault', 'corrupt', '3%')
        self.run_all()


if __name__ == '__main__':
    main()
