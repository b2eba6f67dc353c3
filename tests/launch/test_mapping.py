#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Where ranks run, and their numbers. What could go wrong: an option of mapping is accepted and does nothing; ranks run on
other hosts or cores than Open MPI would give them; --nooversubscribe lets too many ranks start; a refusal names no cure.
The other hosts are this one, reached by an agent in place of ssh."""
import os
import unittest

from mpiexec_case import Case

CORES = len(os.sched_getaffinity(0))


class Hosts(Case):
    def remote(self, *args):
        agent = self.file("agent", '#!/bin/sh\nshift\nexec sh -c "$*"\n')
        return self.run_job("--engine", "ssh", "--rsh-agent", agent, *args)

    def table(self, *args, program=("true",)):
        """The hosts of the ranks, by rank: "a a b b"."""
        folder = os.path.join(self.dir, "ranks")
        os.makedirs(folder)
        done = self.remote("--outfile-pattern", f"{folder}/%r.%h", *args, *program)
        self.assertEqual(done.returncode, 0, done.stderr)
        ranks = dict(name.split(".") for name in os.listdir(folder))
        for name in os.listdir(folder):
            os.remove(os.path.join(folder, name))
        os.rmdir(folder)
        return " ".join(ranks[str(rank)] for rank in range(len(ranks)))

    def refused(self, text, *args, code=2):
        done = self.remote(*args, "true")
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn(text, done.stderr)

    def test_ranks_go_to_the_hosts_of_their_mapping(self):
        two = ("--host", "a:2,b:2")
        self.assertEqual(self.table(*two), "a a b b")
        self.assertEqual(self.table(*two, "--map-by", "slot"), "a a b b")
        self.assertEqual(self.table(*two, "--byslot"), "a a b b")
        self.assertEqual(self.table(*two, "--map-by", "node"), "a b a b")
        self.assertEqual(self.table(*two, "--bynode"), "a b a b")
        self.assertEqual(self.table(*two, "--bynode", "-n", 3), "a b a")
        self.assertEqual(self.table(*two, "--map-by", "ppr:1:node"), "a b")
        self.assertEqual(self.table(*two, "--map-by", "ppr:1:node", "-n", 4), "a b a b")
        self.assertEqual(self.table("--host", "a:3,b:1", "--bynode"), "a b a a")
        self.assertEqual(self.table("--host", "a:2,b", "--bynode", "-n", 4), "a b a b")

    def test_ranks_are_numbered_by_host(self):
        two = ("--host", "a:2,b:2")
        self.assertEqual(self.table(*two, "--rank-by", "node"), "a b a b")
        self.assertEqual(self.table("--host", "a:3,b:1", "--rank-by", "node"), "a b a a")
        for word in ("slot", "fill", "core", "socket", "numa", "l3cache", "hwthread"):
            self.assertEqual(self.table(*two, "--bynode", "--rank-by", word), "a a b b", word)
        self.assertEqual(self.table(*two, "-n", 2, "--rank-by", "node", program=("true", ":", "-n", "2", "true")), "a a b b")

    def test_not_on_this_host(self):
        here = os.uname().nodename
        hosts = ("--host", f"a:2,{here}:4,b:2,localhost")
        self.assertEqual(self.table(*hosts, "--nolocal"), "a a b b")
        self.assertEqual(self.table(*hosts, "--nolocal", "--map-by", "node"), "a b a b")
        self.refused("no host is left", "--nolocal", "--host", f"{here}:2,localhost")
        self.refused("--nolocal needs a list of hosts", "--nolocal")

    def test_slots_are_enough_on_each_host(self):
        for word in (("--nooversubscribe",), ("--map-by", "slot:NOOVERSUBSCRIBE")):
            self.refused("host localhost has 1 slot for 2 ranks; start fewer ranks, give it more slots (--host localhost:2)",
                         *word, "--host", "localhost:1", "-n", 2)
            self.refused("host a has 2 slots for 3 ranks", *word, "--host", "a:2,b:2", "-n", 5)
            self.refused("host a has 2 slots for 4 ranks", *word, "--host", "a:2,b:2", "-n", 4, "-ppn", 4)
            self.refused("start fewer ranks", *word, "-n", CORES + 1)
            self.assertEqual(self.table(*word, "--host", "a:2,b:2", "-n", 4), "a a b b")
        self.assertEqual(self.run_job("--nooversubscribe", "--map-by", ":OVERSUBSCRIBE", "-n", CORES + 1, "true").returncode, 0)
        self.assertEqual(self.run_job("--nooversubscribe", "--host", "localhost:2", "-n", 2, "true").returncode, 0)

    def test_a_mapping_that_would_not_happen_is_refused(self):
        self.refused(":SPAN on several hosts", "--map-by", "socket:SPAN", "--host", "a:2,b:2")
        self.refused("takes", "--map-by", "ppr:1:core", "--host", f"a:{CORES + 1},b", code=1)
        self.refused("numactl", "--membind", "interleave:0", "-n", 1)
        self.refused("$PBS_NODEFILE", "--rmk", "pbs", "-n", 1)
        self.refused("--pretend-hosts /N", "--pretend-hosts", 2, "--rank-by", "node", "-n", 4)

    def test_a_policy_of_open_mpi_has_no_effect_and_is_named(self):
        for words in (("--mca", "rmaps_base_mapping_policy"), ("--prtemca", "rmaps_default_ranking_policy")):
            for hosts in ((), ("--host", "a,b")):
                done = self.remote(*words, "node", *hosts, "-n", 1, "true")
                self.assertEqual((done.returncode, done.stderr.count(f"parameter {words[1]} has no effect")), (0, 1), done.stderr)

    def test_hosts_and_slots_are_shown(self):
        done = self.remote("--host", "a:2,b", "--display-allocation", "--display-devel-map", "-n", 3, "true")
        self.assertEqual(done.stderr, "mpiexec: host a: 2 slots\nmpiexec: host b: 1 slot\n"
                         "mpiexec: host a: ranks 0-1\nmpiexec: host b: rank 2\n")
        done = self.run_job("--display", "allocation", "-n", 1, "true")
        self.assertRegex(done.stderr, r"^mpiexec: host \S+: \d+ slots?\n$")


class Cores(Case):
    def bound(self, *args):
        """The numbers of processors of each rank."""
        done = self.run_job("-l", *args, "nproc")
        self.assertEqual(done.returncode, 0, done.stderr)
        return [int(line.split()[1]) for line in sorted(done.stdout.splitlines())], done.stderr

    def test_several_cores_for_each_rank(self):
        ranks = CORES + 1  # with two cores each: too many
        _, said = self.bound("--map-by", "slot:PE=2", "-n", ranks)
        self.assertIn(f"--map-by slot:PE=2: {ranks} ranks with 2 cores each need {2 * ranks} cores, and there are ", said)
        for words in (("--cpus-per-rank", 1), ("--cpus-per-proc", 1), ("--bind-to", "core:1"), ("--map-by", "core:PE=1")):
            found, said = self.bound(*words, "-n", 1)
            self.assertEqual((found, said), (self.bound("--bind-to", "core", "-n", 1)[0], ""), words)

    def test_not_bound(self):
        for words in (("--bind-to-none",), ("--bind-to", "none"), ("--bind-to-none", "--cpus-per-rank", 1)):
            self.assertEqual(self.bound(*words, "-n", 1), ([CORES], ""), words)

    def test_hardware_threads_as_cores(self):
        self.assertEqual(self.bound("--use-hwthread-cpus", "--cpus-per-rank", 1, "-n", CORES), ([1] * CORES, ""))
        self.assertEqual(len(self.bound("--map-by", ":HWTCPUS")[0]) <= CORES, True)


if __name__ == "__main__":
    unittest.main(verbosity=2)
