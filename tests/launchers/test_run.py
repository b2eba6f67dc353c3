#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""What could go wrong: a test passes although a process remained, a job hung or no job ran; a stopped or killed run.py
leaves processes and files."""
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, HERE)
import session  # noqa: E402

RUN = os.path.join(HERE, "run.py")


def script(directory, name, text):
    path = os.path.join(directory, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\n" + text)
    os.chmod(path, 0o755)
    return path


class RunTest(unittest.TestCase):
    """Uses a shell script in place of Herald's mpiexec: it is called as SCRIPT -n N PROGRAM ARGS."""

    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.directory = holder.name
        self.temporary = os.path.join(self.directory, "tmp")
        os.mkdir(self.temporary)
        self.mpiexec = script(self.directory, "mpiexec", 'shift 2; exec "$@"\n')

    def start(self, *arguments, **options):
        return subprocess.Popen([sys.executable, RUN, "--launcher", "herald", "--mpiexec", self.mpiexec, *arguments],
                                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                                env=dict(os.environ, TMPDIR=self.temporary), **options)

    def run_py(self, *arguments):
        process = self.start(*arguments)
        output, _ = process.communicate(timeout=120)
        self.assertEqual(os.listdir(self.temporary), [], "files were left")
        return process.returncode, output

    def suite(self, program, fails=False, limit=20.0, env=(), expect="", message=""):
        path = os.path.join(self.directory, "suite.json")
        with open(path, "w", encoding="utf-8") as file:
            json.dump([{"program": program, "args": ["x"], "ranks": [1, 2], "fails": fails, "limit": limit,
                        "env": env, "expect": expect, "message": message}], file)
        return self.run_py("--suite", path)

    def wait_for(self, condition):
        end = time.monotonic() + 60
        while not condition():
            self.assertLess(time.monotonic(), end, "waited in vain")
            time.sleep(0.02)

    def test_code_and_output_of_a_job(self):
        code, output = self.run_py("-n", "2", "--", "/bin/sh", "-c", "echo hello; exit 9")
        self.assertEqual((code, output), (9, "hello\n"))

    def test_signal_gives_the_exit_code_of_a_shell(self):
        code, _ = self.run_py("--", "/bin/sh", "-c", "kill -9 $$")
        self.assertEqual(code, 137)

    def test_hanging_job_is_stopped(self):
        code, output = self.run_py("--timeout", "0.5", "--", "/bin/sleep", "50")
        self.assertEqual(code, 124, output)

    def test_missing_launcher_is_skipped_with_the_reason(self):
        self.mpiexec = "/nonexistent/mpiexec"
        code, output = self.run_py("--", "/bin/true")
        self.assertEqual(code, 77)
        self.assertIn("/nonexistent/mpiexec", output)

    def test_suite_passes_only_if_all_jobs_pass(self):
        code, output = self.suite("/bin/true")
        self.assertEqual(code, 0, output)
        self.assertIn("2 of 2", output)
        code, output = self.suite("/bin/false")
        self.assertEqual(code, 1)
        self.assertIn("exit code 1", output)

    def test_success_of_a_job_that_should_fail_is_a_failure(self):
        self.assertEqual(self.suite("/bin/false", fails=True)[0], 0)
        self.assertEqual(self.suite("/bin/true", fails=True)[0], 1)

    def test_expected_output_and_variables(self):
        program = script(self.directory, "says", 'echo "it is $COLOUR"\n')
        self.assertEqual(self.suite(program, env=["COLOUR=a=b"], expect="it is a=b")[0], 0)
        code, output = self.suite(program, env=["COLOUR=red"], expect="it is blue")
        self.assertEqual(code, 1)
        self.assertIn("did not say", output)

    def test_message_must_match(self):
        program = script(self.directory, "says", 'echo "rank 3 is wrong"; exit 1\n')
        self.assertEqual(self.suite(program, fails=True, message="rank [0-9].*wrong")[0], 0)
        code, output = self.suite(program, fails=True, message="rank [0-2]")
        self.assertEqual(code, 1)
        self.assertIn("no line matches", output)

    def test_empty_suite_is_a_failure(self):
        path = os.path.join(self.directory, "suite.json")
        with open(path, "w", encoding="utf-8") as file:
            file.write("[]")
        self.assertEqual(self.run_py("--suite", path)[0], 1)

    def test_hang_is_a_failure_even_if_failure_is_expected(self):
        program = script(self.directory, "hang", "exec sleep 50\n")
        code, output = self.suite(program, fails=True, limit=0.3)
        self.assertEqual(code, 1)
        self.assertIn("still running", output)

    def test_remaining_processes_are_found_and_killed(self):
        pids = os.path.join(self.directory, "pids")
        program = script(self.directory, "leaver", f"setsid sleep 50 >/dev/null 2>&1 &\necho $! >> {pids}\n")
        code, output = self.suite(program)
        self.assertEqual(code, 1)
        self.assertIn("left running", output)
        with open(pids, encoding="utf-8") as file:
            for pid in file.read().split():
                self.assertFalse(session.describe(int(pid)).endswith("sleep 50"))

    def check_end(self, number, target):
        """A signal ends a session whose job ignores SIGTERM: all its processes end."""
        pids = os.path.join(self.directory, "pids")
        program = script(self.directory, "ignores_sigterm",
                         f"trap '' TERM INT HUP\nsetsid sleep 50 &\necho $$ $! > {pids}\nwait\nsleep 50\n")
        process = self.start("--", program, start_new_session=True)
        self.wait_for(lambda: os.path.exists(pids) and os.path.getsize(pids) > 0)
        with open(pids, encoding="utf-8") as file:
            left = [int(pid) for pid in file.read().split()]
        os.kill(target(process), number)
        process.communicate(timeout=30)
        self.wait_for(lambda: not os.listdir(self.temporary))  # removed last
        alive = {pid for pid, (_, state) in session.process_table().items() if state not in "ZX"}
        self.assertFalse(alive & set(left))
        return process.returncode

    def test_sigterm_ends_all_processes(self):
        self.assertNotEqual(self.check_end(signal.SIGTERM, lambda process: process.pid), 0)

    def test_killed_guard_leaves_nothing(self):
        self.assertEqual(self.check_end(signal.SIGKILL, lambda process: process.pid), -signal.SIGKILL)

    def test_killed_worker_leaves_nothing(self):
        def worker(process):
            table = session.process_table()
            return next(pid for pid, (parent, _) in table.items() if parent == process.pid)
        self.assertEqual(self.check_end(signal.SIGKILL, worker), 137)

    def test_usage_error(self):
        for arguments in ((), ("-n", "0", "--", "/bin/true"), ("--suite", "x", "--", "/bin/true")):
            code, output = self.run_py(*arguments)
            self.assertEqual(code, 2, output)


if __name__ == "__main__":
    unittest.main()
