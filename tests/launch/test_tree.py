#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Jobs on more hosts than mpiexec connects to by itself. What could go wrong: ranks behind another host are lost, or do not
see what others put; their output, input or exit code does not arrive; a host that cannot be reached is not named;
a slow host is given up; remote shells share the processor time of one session; processes stay when the job ends. And the places of a rankfile, and files of output."""
import os
import re
import signal
import subprocess
import unittest

from mpiexec_case import LIMIT, PY, SOURCE, Case, alive, text_of, wait_until

HOSTS = 40
LINKS = 32
assert f"kMostLinks = {LINKS};" in text_of(SOURCE + "/launch/tree.hpp")


def without_notices(text):
    """On a busy machine each of many hosts may be named as slow."""
    return re.sub(r"mpiexec: host \w+ has not answered for 10 s: .*\n", "", text)


def links_of(pid):
    """The hosts of the links that this process has started."""
    children = subprocess.run(["ps", "-o", "args=", "--ppid", str(pid)], capture_output=True, text=True).stdout
    return [line.split()[2] for line in children.splitlines() if "--herald-link" in line]


class Tree(Case):
    def words(self, *more, agent='exec sh -c "$*"'):
        path = self.file("agent", f'#!/bin/sh\nhost=$1\nshift\n{agent}\n')
        return ("--engine", "ssh", "--rsh-agent", path, "--host", f"h[1-{HOSTS}]", *more)

    def test_ranks_of_all_levels_meet(self):
        script = self.script(f"""
            kvs = init()
            assert ask(f'cmd=put kvsname={{kvs}} key=k{{rank}} value=v{{rank}}')['rc'] == '0'
            assert ask('cmd=barrier_in')['cmd'] == 'barrier_out'
            for other in (0, (rank + 1) % size, (rank + 7) % size, size - 1):
                assert ask(f'cmd=get kvsname={{kvs}} key=k{{other}}')['value'] == f'v{{other}}', other
            print('rank', rank, 'of', size, flush=True)
            while not os.path.exists('{self.dir}/go'): time.sleep(0.05)
            ask('cmd=finalize')""")
        job = self.start("-n", HOSTS, *self.words(PY, script), stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        lines = [job.stdout.readline() for _ in range(HOSTS)]
        self.assertEqual(len(links_of(job.pid)), LINKS)
        self.file("go")
        out, err = job.communicate(timeout=LIMIT)
        self.assertEqual((job.returncode, out, without_notices(err)), (0, "", ""))
        self.assertEqual(sorted(lines), sorted(f"rank {r} of {HOSTS}\n" for r in range(HOSTS)))

    def test_exit_code_and_name_of_a_far_rank(self):
        done = self.run_job("-n", HOSTS, *self.words("sh", "-c", "[ $PMI_RANK = 36 ] && exit 7; sleep 60"))
        self.assertEqual(done.returncode, 7, done.stderr)
        self.assertRegex(done.stderr, r"rank 36 \(pid \d+\) on h37 exited with code 7")

    def test_abort_of_some_ranks_ends_only_them_on_all_hosts(self):
        ended = (2, 37, 39)
        script = self.script(f"""
            init()
            if rank == 37: say('cmd=abort exitcode=7 by=37 ranks=2,37-39:2')
            if rank in {ended}: time.sleep(1000)
            assert ask('cmd=barrier_in')['cmd'] == 'barrier_out'
            print('rank', rank, flush=True)
            ask('cmd=finalize')""")
        done = self.run_job("-n", HOSTS, *self.words(PY, script))
        self.assertEqual(done.returncode, 7, done.stderr)
        self.assertEqual(without_notices(done.stderr), "mpiexec: rank 37 called MPI_Abort with code 7 on a communicator of 3 ranks; "
                         "the other 37 went on\n")
        self.assertEqual(sorted(done.stdout.splitlines()), sorted(f"rank {r}" for r in range(HOSTS) if r not in ended))

    def test_input_reaches_a_far_rank(self):
        done = self.run_job("-n", HOSTS, "--stdin", HOSTS - 1, *self.words(
            "sh", "-c", f"[ $PMI_RANK = {HOSTS - 1} ] && cat; true"), input="hello\n")
        self.assertEqual((done.returncode, done.stdout), (0, "hello\n"), done.stderr)

    def test_a_far_host_that_cannot_be_reached_is_named(self):
        agent = '[ $host = h40 ] && { echo no route to h40 >&2; exit 255; }\nexec sh -c "$*"'
        done = self.run_job("-n", HOSTS, *self.words("sleep", 60, agent=agent))
        self.assertEqual(done.returncode, 1)
        self.assertIn("host h40 cannot be reached: no route to h40", done.stderr)

    def test_a_slow_login_shell_is_named_and_waited_for(self):
        agent = '[ $host = h3 ] && { echo loading modules; sleep 12; }\nexec sh -c "$*"'
        done = self.run_job("-n", HOSTS, *self.words("sh", "-c", "echo $PMI_RANK", agent=agent))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(done.stdout.split()), HOSTS)
        self.assertEqual(len(re.findall(r"mpiexec: host h3 has not answered for 10 s: .*: loading modules\n", done.stderr)), 1)
        self.assertEqual(without_notices(done.stderr), "")

    def test_each_remote_shell_has_a_session_of_its_own(self):
        # On a busy machine autogroup gives one session of all shells no more than one shell in its session gets.
        agent = f'echo $$ $(ps -o sid= -p $$) >> {self.dir}/sessions\nexec sh -c "$*"'
        done = self.run_job("-n", HOSTS, *self.words("true", agent=agent))
        self.assertEqual(done.returncode, 0, done.stderr)
        sessions = [line.split() for line in text_of(f"{self.dir}/sessions").splitlines()]
        self.assertEqual(len(sessions), HOSTS)
        self.assertEqual([pid for pid, session in sessions if pid != session], [])

    def test_nothing_stays(self):
        job = self.start("-n", HOSTS, *self.words("sh", "-c", self.sleeper()), stderr=subprocess.DEVNULL)
        pids = self.pids(HOSTS)
        job.send_signal(signal.SIGTERM)
        job.wait(LIMIT)
        self.assertTrue(wait_until(lambda: not any(alive(pid) for pid in pids)))


class Rankfile(Case):
    def test_ranks_run_where_it_says(self):
        agent = self.file("agent", '#!/bin/sh\nshift\nexec sh -c "$*"\n')
        places = self.file("places", "rank 0=b slot=0\nrank 1=a\nrank 2=b slot=0\n")
        done = self.run_job("--engine", "ssh", "--rsh-agent", agent, "--rankfile", places,
                            "--outfile-pattern", f"{self.dir}/%r.%h", "sh", "-c", "nproc")
        self.assertEqual(done.returncode, 0, done.stderr)
        processors = [int(text_of(f"{self.dir}/{name}") or 0) for name in ("0.b", "1.a", "2.b")]
        self.assertEqual(processors[1], len(os.sched_getaffinity(0)))
        self.assertTrue(0 < processors[0] == processors[2] <= processors[1], processors)
        wrong = self.run_job("--engine", "ssh", "--rsh-agent", agent, "-n", 2, "--rankfile", places, "true")
        self.assertEqual(wrong.returncode, 2)
        self.assertIn("it has 3 ranks, and the job has 2", wrong.stderr)

    def test_on_this_host(self):
        here = os.uname().nodename
        places = self.file("places", f"rank 0={here} slot=0\nrank 1={here} slot=0\n")
        done = self.run_job("--map-by", f"rankfile:file={places}", "--report-bindings", "nproc")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(len(done.stdout.split()), 2)
        self.assertRegex(done.stderr, r"rank 1 on \S+: \[B")
        places = self.file("places", f"rank 0={here} slot=9999\n")
        self.assertIn("there is no core 9999", self.run_job("--rankfile", places, "true").stderr)


class Files(Case):
    def test_a_folder_for_each_rank(self):
        done = self.run_job("-n", 2, "--output", f"dir={self.dir}/out", "sh", "-c", "echo out $PMI_RANK; echo err >&2")
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))
        self.assertEqual(text_of(f"{self.dir}/out/rank.1/stdout"), "out 1\n")
        self.assertEqual(text_of(f"{self.dir}/out/rank.0/stderr"), "err\n")


if __name__ == "__main__":
    unittest.main(verbosity=2)
