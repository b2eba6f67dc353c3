# SPDX-License-Identifier: BSD-3-Clause
"""What could go wrong: output is lost, added or interleaved, input is lost, a slow reader blocks or spins mpiexec."""
import os
import pty
import re
import signal
import subprocess
import time
import unittest

from mpiexec_case import LIMIT, MPIEXEC, PY, Case, clean_env, text_of


class Output(Case):
    def test_lines_are_not_interleaved(self):
        path = self.script("""
            import random
            r = int(os.environ['PMI_RANK'])
            rnd = random.Random(r)
            for i in range(400):
                line = f'{r} {i} ' + 'x' * rnd.randrange(3000) + ' end\\n'
                at = 0
                while at < len(line):
                    n = rnd.randrange(1, 2000)
                    os.write(1, line[at:at + n].encode()); at += n
        """, pmi=False)
        with open(os.path.join(self.dir, "out"), "w+") as out:
            subprocess.run([MPIEXEC, "-n", "16", PY, path], stdout=out, stdin=subprocess.DEVNULL, timeout=LIMIT,
                           check=True, env=clean_env())
            out.seek(0)
            lines = out.read().splitlines()
        self.assertEqual(len(lines), 16 * 400)
        following = [0] * 16
        for line in lines:
            match = re.fullmatch(r"(\d+) (\d+) x* end", line)
            self.assertTrue(match, line[:80])
            self.assertEqual(int(match[2]), following[int(match[1])])
            following[int(match[1])] += 1

    def test_labels_and_separate_streams(self):
        for option in ("-l", "--tag-output", "-prepend-rank"):
            done = self.run_job(option, "-n", 2, "sh", "-c", "echo out; echo err >&2; printf half")
            self.assertEqual(sorted(done.stdout.splitlines()), ["[0] half", "[0] out", "[1] half", "[1] out"])
            self.assertEqual(sorted(done.stderr.splitlines()), ["[0] err", "[1] err"])

    def test_an_error_of_all_ranks_is_one_line_before_the_summary(self):
        path = self.script("""
            if os.environ['PMI_RANK'] == '1':
                time.sleep(1000)
            lines = ''.join(f'herald: rank {i} on n1: MPI_Send: bad: aborting the job\\n' for i in range(4))
            os.write(2, lines.encode())
            sys.exit(4)
        """, pmi=False)
        done = self.run_job("-n", 2, PY, path)
        self.assertEqual(done.returncode, 4)
        *first, last = done.stderr.splitlines()
        self.assertEqual(first, ["herald: ranks 0-3 on n1: MPI_Send: bad: aborting the job"])
        self.assertRegex(last, "mpiexec: rank . .* exited with code 4")

    def test_lines_of_python_programs_survive_a_crash(self):
        done = self.run_job("-n", 2, PY, "-c", "import os; print('said'); os._exit(0)")
        self.assertEqual(done.stdout, "said\nsaid\n", done.stderr)

    def test_prompts_are_written(self):
        job = self.start("-n", 1, "sh", "-c", "printf 'name? '; sleep 100", stdout=subprocess.PIPE)
        os.set_blocking(job.stdout.fileno(), True)
        self.assertEqual(os.read(job.stdout.fileno(), 100), b"name? ")

    def test_slow_reader_loses_nothing(self):
        job = self.start("-n", 4, PY, "-c", "for i in range(40000): print('y' * 50)", stdout=subprocess.PIPE)
        time.sleep(1)
        self.assertLess(int(text_of(f"/proc/{job.pid}/statm").split()[1]) * 4096, 64 << 20)
        self.assertEqual(len(job.stdout.read()), 4 * 40000 * 51)
        self.assertEqual(job.wait(LIMIT), 0)

    def test_waiting_for_a_slow_reader_does_not_spin(self):
        job = self.start("-n", 2, "sh", "-c", "yes | head -c 3000000", stdout=subprocess.PIPE)
        time.sleep(2)
        ticks = sum(map(int, text_of(f"/proc/{job.pid}/stat").rsplit(")", 1)[1].split()[11:13]))
        self.assertLess(ticks, 100)  # a spinning process uses about 200
        self.assertEqual(len(job.stdout.read()), 6000000)

    def test_signals_are_handled_while_output_is_blocked(self):
        job = self.start("-n", 2, "yes", stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        time.sleep(0.5)
        job.terminate()
        self.assertEqual(job.wait(LIMIT), 128 + signal.SIGTERM)

    def test_closed_pipe_ends_the_job(self):
        done = subprocess.run(["sh", "-c", f"{MPIEXEC} -n 2 yes | head -n 1"], capture_output=True, text=True,
                              timeout=LIMIT, stdin=subprocess.DEVNULL, env=clean_env())
        self.assertEqual(done.stdout, "y\n")

    def test_huge_line(self):
        done = self.run_job("-n", 2, PY, "-c", "import sys; sys.stdout.write('z' * 3000000 + '\\n')")
        self.assertEqual((done.stdout.count("z"), done.stdout.count("\n"), len(done.stdout)), (6000000, 2, 6000002))

    def test_full_disk(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        with open("/dev/full", "w") as full:
            done = subprocess.run([MPIEXEC, "-n", "2", "echo", "x"], stdout=full, stderr=subprocess.PIPE, text=True,
                                  timeout=LIMIT, stdin=subprocess.DEVNULL, env=clean_env())
        self.assertEqual(done.returncode, 1)
        self.assertIn("standard output", done.stderr)

    def test_closed_streams(self):
        for closed in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
            done = subprocess.run(["sh", "-c", f"{MPIEXEC} -n 3 sh -c 'echo x; echo y >&2' {closed}"], text=True,
                                  capture_output=True, timeout=LIMIT, env=clean_env())
            self.assertEqual(done.returncode, 0, closed)
            self.assertEqual(done.stdout, "" if ">&-" in closed.replace("2>&-", "") else "x\n" * 3, closed)

    def test_binary_bytes_are_kept(self):
        data = bytes(range(256)) * 1000
        with open(os.path.join(self.dir, "data"), "wb") as out:
            out.write(data)
        done = subprocess.run([MPIEXEC, "-n", "1", "cat", os.path.join(self.dir, "data")], capture_output=True,
                              timeout=LIMIT, stdin=subprocess.DEVNULL, env=clean_env())
        self.assertEqual(done.stdout, data)


class Input(Case):
    def test_only_rank_0_reads_input(self):
        done = self.run_job("-l", "-n", 3, "sh", "-c", "cat; echo end", input="hello\n")
        self.assertEqual(sorted(done.stdout.splitlines()), ["[0] end", "[0] hello", "[1] end", "[2] end"])

    def test_all_one_and_none(self):
        for how, ranks in (("all", "012"), ("2", "2"), ("none", "")):
            for option in ("-s", "--stdin"):
                done = self.run_job("-l", option, how, "-n", 3, "cat", input="hello\n")
                self.assertEqual(sorted(done.stdout.splitlines()), [f"[{r}] hello" for r in ranks])

    def test_huge_input_to_all_and_to_one(self):
        path = os.path.join(self.dir, "big")
        with open(path, "wb") as big:
            big.write(b"0123456789abcdef" * (1 << 18))
        for how in ("all", "0"):
            for piped in (False, True):
                with open(path, "rb") as big:
                    cat = subprocess.Popen(["cat"], stdin=big, stdout=subprocess.PIPE) if piped else None
                    done = subprocess.run([MPIEXEC, "-s", how, "-n", "2", "wc", "-c"], timeout=LIMIT, text=True,
                                          stdin=cat.stdout if cat else big, stdout=subprocess.PIPE, env=clean_env())
                    if cat:
                        cat.stdout.close()
                        cat.wait(LIMIT)
                self.assertEqual(sorted(map(int, done.stdout.split())), [1 << 22 if how == "all" else 0, 1 << 22])

    def test_rank_that_does_not_read_input_blocks_no_other(self):
        for how in ("0", "all"):
            reader, writer = os.pipe()
            os.set_blocking(writer, False)
            os.write(writer, b"x" * 60000)
            done = self.run_job("-s", how, "-n", 2, "echo", "done", stdin=reader)
            os.close(reader)
            os.close(writer)
            self.assertEqual(done.stdout, "done\ndone\n")

    def test_unread_input_stays_for_the_next_program(self):
        done = subprocess.run(["sh", "-c", f"{MPIEXEC} -n 2 true; cat"], input="left\n", capture_output=True, text=True,
                              timeout=LIMIT, env=clean_env())
        self.assertEqual(done.stdout, "left\n")

    def terminal(self, *args):
        """Runs mpiexec in a new terminal; returns pid and the terminal."""
        pid, fd = pty.fork()
        if pid == 0:
            os.execve(MPIEXEC, [MPIEXEC, *map(str, args)], clean_env())
        self.addCleanup(os.close, fd)
        return pid, fd

    def read_until(self, fd, text):
        got = b""
        end = time.monotonic() + LIMIT
        while text not in got and time.monotonic() < end:
            try:
                got += os.read(fd, 1000)
            except OSError:
                break
        self.assertIn(text, got)

    def test_terminal(self):
        pid, fd = self.terminal("-n", 2, "sh", "-c", "if [ $PMI_RANK = 0 ]; then read x; echo got:$x; fi")
        os.write(fd, b"word\n")
        self.read_until(fd, b"got:word")
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)

    def test_a_slow_start_says_how_far_it_is(self):
        agent = self.file("agent", '#!/bin/sh\n[ $1 = b ] && sleep 5\nshift\nexec sh -c "$*"\n')
        pid, fd = self.terminal("--engine", "ssh", "--rsh-agent", agent, "--host", "a,b", "-n", 2, "echo", "up")
        self.read_until(fd, b"1 of 2 hosts have answered")
        self.read_until(fd, b"up")
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)

    def test_unread_terminal_and_ctrl_c(self):
        pid, fd = self.terminal("-n", 2, "sh", "-c", "echo up; sleep 100")
        self.read_until(fd, b"up")
        os.write(fd, b"\x03")
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 130)

    def test_terminal_closed_end_of_file(self):
        pid, fd = self.terminal("-n", 1, "sh", "-c", "cat; echo eof")
        os.write(fd, b"\x04")
        self.read_until(fd, b"eof")
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0)


if __name__ == "__main__":
    unittest.main(verbosity=2)
