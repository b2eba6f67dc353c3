#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What could go wrong: a debugger does not find MPIR_proctable, or wrong processes in it, or ranks of other hosts are
missing; mpiexec does not stop at MPIR_Breakpoint; a rank under gdb cannot speak PMI, or gdb has no input; without gdb
nothing is said; --stack-traces prints no stack, or hangs."""
import os
import pty
import re
import select
import shutil
import signal
import subprocess
import time
import unittest

from mpiexec_case import LIMIT, MPIEXEC, PY, Case, clean_env, wait_until

GDB = shutil.which("gdb")
IDLE = "while True: time.sleep(1)"


def gdb(*commands, args=()):
    words = [GDB, "-q", "-batch", "-nx", "-iex", "set debuginfod enabled off"]
    for command in commands:
        words += ["-ex", command]
    return subprocess.run([*words, *args], capture_output=True, text=True, timeout=LIMIT, env=clean_env(),
                          stdin=subprocess.DEVNULL)


def entries(text):
    """(host, program, pid) of the lines that `print MPIR_proctable[i]` writes."""
    found = re.findall(r'host_name = 0x\w+ "([^"]*)", executable_name = 0x\w+ "([^"]*)", pid = (\d+)', text)
    return [(host, program, int(pid)) for host, program, pid in found]


@unittest.skipUnless(GDB, "no gdb")
class Table(Case):
    def test_breakpoint_with_all_ranks(self):
        script = self.script("init(); say('cmd=finalize'); f.readline()")
        done = gdb("break MPIR_Breakpoint", "run", "print MPIR_proctable_size", "print MPIR_debug_state",
                   "print MPIR_i_am_starter", "print MPIR_proctable[0]", "print MPIR_proctable[2]",
                   "delete", "continue", args=["--args", MPIEXEC, "-n", "3", PY, script])
        self.assertIn("Breakpoint 1, ", done.stdout, done.stderr)
        self.assertIn("$1 = 3", done.stdout)
        self.assertIn("$2 = 1", done.stdout)
        self.assertIn("$3 = 1", done.stdout)
        table = entries(done.stdout)
        self.assertEqual(len(table), 2, done.stdout)
        for host, program, pid in table:
            self.assertEqual(host, os.uname().nodename)
            self.assertEqual(os.path.realpath(program), os.path.realpath(PY))
            self.assertGreater(pid, 1)
        self.assertIn("exited normally", done.stdout)

    def started(self, *options):
        job = subprocess.Popen([MPIEXEC, "-n", "3", *options, PY, self.script(
            f"open('{self.dir}/' + str(os.getpid()), 'w').write(os.environ['PMI_RANK'])\n{IDLE}", pmi=False)],
            env=clean_env(), stdin=subprocess.DEVNULL)
        self.addCleanup(job.wait, LIMIT)
        self.addCleanup(job.send_signal, signal.SIGTERM)
        self.assertTrue(wait_until(lambda: len([n for n in os.listdir(self.dir) if n.isdigit()]) == 3))
        return job

    def attached(self, job):
        """The table of mpiexec, when hosts have told it all processes."""
        def table():
            done = gdb("print MPIR_proctable_size", *(f"print MPIR_proctable[{i}]" for i in range(3)),
                       args=["-p", str(job.pid)])
            self.assertIn("$1 = 3", done.stdout, done.stderr)
            return entries(done.stdout)

        self.assertTrue(wait_until(lambda: len(table()) == 3))
        return table()

    def check_pids(self, table):
        for rank, (_, _, pid) in enumerate(table):
            with open(f"{self.dir}/{pid}") as file:
                self.assertEqual(file.read(), str(rank))

    def test_attach_to_a_running_job(self):
        table = self.attached(self.started())
        self.assertEqual(len(table), 3)
        self.check_pids(table)

    def test_ranks_of_other_hosts(self):
        agent = self.file("agent", '#!/bin/sh\nshift\nexec sh -c "$*"\n')
        table = self.attached(self.started("--engine", "ssh", "--rsh-agent", agent, "--host", "first:2,second:1"))
        self.assertEqual([host for host, _, _ in table], ["first", "first", "second"])
        self.check_pids(table)


class UnderGdb(Case):
    @unittest.skipUnless(GDB, "no gdb")
    def test_one_rank_with_piped_commands(self):
        script = self.script("""
            init()
            assert ask('cmd=barrier_in')['cmd'] == 'barrier_out'
            print('hello from', rank, flush=True)
            ask('cmd=finalize')""")
        done = subprocess.run([MPIEXEC, "-n", "2", "--gdb", "1", PY, script], input="run\ninfo program\nquit\n",
                              capture_output=True, text=True, timeout=LIMIT, env=clean_env())
        self.assertIn("hello from 0", done.stdout)
        self.assertIn("hello from 1", done.stdout)
        self.assertIn("exited normally", done.stdout)

    @unittest.skipUnless(GDB, "no gdb")
    def test_terminal_belongs_to_gdb_and_comes_back(self):
        main_end, inner = pty.openpty()
        shell = self.file("shell", f"""#!/bin/bash
set -m
{MPIEXEC} -n 2 --gdb 0 /bin/sleep 0
stty -a > {self.dir}/after
read word
echo got $word
""")
        job = subprocess.Popen(["setsid", "-c", shell], stdin=inner, stdout=inner, stderr=inner, env=clean_env(TERM="dumb"))
        text = ""

        def said(pattern):
            nonlocal text
            while select.select([main_end], [], [], 0.1)[0]:
                text += os.read(main_end, 65536).decode(errors="replace")
            return re.search(pattern, text)

        self.assertTrue(wait_until(lambda: said(r"\(gdb\)")), text)
        os.write(main_end, b"run\n")
        self.assertTrue(wait_until(lambda: said("exited normally")), text)
        os.write(main_end, b"quit\n")
        self.assertTrue(wait_until(lambda: os.path.exists(f"{self.dir}/after")), text)
        os.write(main_end, b"again\n")
        self.assertTrue(wait_until(lambda: said("got again")), text)
        self.assertEqual(job.wait(LIMIT), 0)

    def refusal(self, *options, **env):
        done = subprocess.run([MPIEXEC, "-n", "2", *options, "/bin/true"], capture_output=True, text=True, timeout=LIMIT,
                              env=clean_env(**env))
        self.assertEqual(done.returncode, 2, done.stderr)
        return done.stderr

    def test_refusals_name_the_cure(self):
        self.assertIn("there is no gdb in PATH; install it", self.refusal("--gdb", "0", PATH="/nonexistent"))
        self.assertIn("there is no rank 2 among 2", self.refusal("--gdb", "2"))
        self.assertIn("write a rank, a list", self.refusal("--gdb", "x"))
        self.assertIn("works on this host only", self.refusal("--engine", "ssh", "--host", "a,b", "--gdb", "0"))
        if GDB:
            self.assertIn("need a window each", self.refusal("--gdb", "all", DISPLAY=""))


@unittest.skipUnless(GDB, "no gdb")
class Stacks(Case):
    def test_timeout(self):
        done = subprocess.run([MPIEXEC, "-n", "2", "--timeout", "2", "--stack-traces", "/bin/sleep", "1000"],
                              capture_output=True, text=True, timeout=LIMIT, env=clean_env())
        self.assertEqual(done.returncode, 124)
        for rank in range(2):
            self.assertRegex(done.stderr, rf"(?s)stack of rank {rank} \(pid \d+\) on \S+:\n.*#0 ")
        self.assertRegex(done.stderr, "#0 .*nanosleep")


if __name__ == "__main__":
    unittest.main(verbosity=2)
