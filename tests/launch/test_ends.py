# SPDX-License-Identifier: BSD-3-Clause
"""What could go wrong: a job hangs, leaves processes or files, or loses the exit code of a failure."""
import fcntl
import glob
import os
import signal
import subprocess
import time
import unittest

from mpiexec_case import LIMIT, PY, Case, alive, clean_env, text_of, wait_until


class Ends(Case):
    def test_exit_code_of_the_failing_rank(self):
        begin = time.monotonic()
        done = self.run_job("-n", 4, "sh", "-c", "[ $PMI_RANK = 2 ] && exit 7; sleep 100")
        self.assertEqual(done.returncode, 7)
        self.assertRegex(done.stderr, r"mpiexec: rank 2 \(pid \d+\) on \S+ exited with code 7\n")
        self.assertLess(time.monotonic() - begin, 50)

    def test_signal(self):
        done = self.run_job("-n", 4, "sh", "-c", "[ $PMI_RANK = 3 ] && kill -SEGV $$; sleep 100")
        self.assertEqual(done.returncode, 128 + signal.SIGSEGV)
        self.assertRegex(done.stderr, r"mpiexec: rank 3 \(pid \d+\) on \S+ ended by signal 11 \(Segmentation fault\)")
        self.assertEqual(done.stderr.count("mpiexec:"), 1, "only the cause is reported")

    def test_ranks_that_ignore_sigterm_and_their_children_end_too(self):
        command = self.sleeper("trap '' TERM;") + "; sleep 100"
        job = self.start("-n", 3, "sh", "-c", command, stderr=subprocess.PIPE)
        pids = self.pids(3)
        os.kill(pids[1], signal.SIGKILL)
        self.assertEqual(job.wait(LIMIT), 128 + signal.SIGKILL)
        self.assertTrue(wait_until(lambda: not any(alive(p) for p in pids)))
        self.assertEqual(self.left_over(pids), [])

    def left_over(self, groups):
        out = []
        for stat in glob.glob("/proc/[0-9]*/stat"):
            fields = text_of(stat).rsplit(")", 1)[-1].split()
            if fields and int(fields[2]) in groups and fields[0] not in "ZX":
                out.append(stat)
        return out

    def test_signal_to_mpiexec_ends_all_ranks(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            for old in glob.glob(os.path.join(self.dir, "pid.*")):
                os.remove(old)
            job = self.start("-n", 4, "sh", "-c", self.sleeper(), stderr=subprocess.PIPE)
            pids = self.pids(4)
            begin = time.monotonic()
            job.send_signal(number)
            self.assertEqual(job.wait(LIMIT), 128 + number)
            self.assertLess(time.monotonic() - begin, 20)
            self.assertEqual(self.left_over(pids), [])

    def test_second_signal_kills_immediately(self):
        job = self.start("-n", 2, "sh", "-c", self.sleeper("trap '' TERM;") + "; sleep 100", stderr=subprocess.PIPE)
        pids = self.pids(2)
        job.send_signal(signal.SIGINT)
        time.sleep(0.05)
        job.send_signal(signal.SIGINT)
        self.assertEqual(job.wait(LIMIT), 130)
        self.assertEqual(self.left_over(pids), [])

    def test_killed_mpiexec_leaves_no_process_and_no_file(self):
        command = "touch /dev/shm/herald-$(id -u)-$HERALD_JOB_ID-$PMI_RANK-x; echo $HERALD_JOB_ID;" + self.sleeper()
        job = self.start("-n", 3, "sh", "-c", command, stdout=subprocess.PIPE)
        pids = self.pids(3)
        job_id = job.stdout.readline().strip()
        time.sleep(0.2)
        job.kill()
        job.wait(LIMIT)
        self.assertTrue(wait_until(lambda: self.left_over(pids) == []), "processes of the job are still running")
        self.assertTrue(wait_until(lambda: not glob.glob(f"/dev/shm/herald-*{job_id}*")))

    def test_files_in_shared_memory_are_removed(self):
        touch = "touch /dev/shm/herald-$(id -u)-$HERALD_JOB_ID-$PMI_RANK-x; echo $HERALD_JOB_ID; "
        other = f"/dev/shm/herald-{os.getuid()}-0123456789abcdef-0-mpiexec-test"
        living = open(other, "w")  # locked as by a running job: other tests remove stale files
        self.addCleanup(living.close)
        fcntl.flock(living, fcntl.LOCK_EX)
        self.addCleanup(os.remove, other)
        for end in ("true", "kill -KILL $$"):
            done = self.run_job("-n", 2, "sh", "-c", touch + end)
            self.assertEqual(glob.glob(f"/dev/shm/*{done.stdout.split()[0]}*"), [])
        self.assertTrue(os.path.exists(other), "files of other jobs stay")

    def test_abort_of_some_ranks_ends_only_them(self):
        script = self.script("""
            import signal
            init()
            signal.signal(signal.SIGTERM, signal.SIG_IGN if rank == 3 else signal.SIG_DFL)
            if rank == 1: say('cmd=abort exitcode=44 given=300 by=1 ranks=1-3:2')
            if rank in (1, 3): time.sleep(1000)
            assert ask('cmd=barrier_in')['cmd'] == 'barrier_out'
            if rank == 0: print('listed', *open(f'/dev/shm/herald-{os.geteuid()}-{os.environ["HERALD_JOB_ID"]}-aborted'))
            print('rank', rank, flush=True)
            ask('cmd=finalize')""")
        done = self.run_job("-n", 5, PY, script)
        self.assertEqual(done.returncode, 44, done.stderr)
        self.assertEqual(done.stderr, "mpiexec: rank 1 called MPI_Abort with code 300 on a communicator of 2 ranks; "
                         "the other 3 went on; the exit status is 44\n")
        self.assertEqual(sorted(done.stdout.split()), sorted("listed 1 3 rank 0 rank 2 rank 4".split()))
        self.assertEqual(glob.glob("/dev/shm/herald-*-aborted"), [])

    def test_timeout(self):
        done = self.run_job("--timeout", 1, "-n", 2, "sleep", "100")
        self.assertEqual(done.returncode, 124)
        self.assertIn("1 seconds", done.stderr)
        self.assertEqual(self.run_job("-n", 2, "sleep", "100", env=clean_env(MPIEXEC_TIMEOUT="1")).returncode, 124)
        self.assertEqual(self.run_job("--timeout", 100, "-n", 1, "true").returncode, 0)

    def test_keep_going(self):
        done = self.run_job("-disable-auto-cleanup", "-n", 3, "sh", "-c", "[ $PMI_RANK = 0 ] && exit 5; sleep 1; echo x")
        self.assertEqual((done.returncode, done.stdout), (5, "x\nx\n"))

    def test_remaining_child_processes_do_not_delay_the_end(self):
        begin = time.monotonic()
        done = self.run_job("-n", 2, "sh", "-c", "sleep 100 & echo x")
        self.assertEqual((done.returncode, done.stdout), (0, "x\nx\n"))
        self.assertLess(time.monotonic() - begin, 60)

    def test_child_in_another_session_that_writes_without_end_does_not_delay_the_end(self):
        command = f"setsid sh -c 'echo $$ > {self.dir}/pid; exec yes' & while [ ! -s {self.dir}/pid ]; do sleep 0.02; done"
        try:
            self.assertEqual(self.run_job("-n", 1, "sh", "-c", command).returncode, 0)
        finally:
            pid = text_of(f"{self.dir}/pid").strip()
            if pid and alive(pid):
                os.kill(int(pid), signal.SIGKILL)

    def test_output_of_a_failing_job_is_kept(self):
        done = self.run_job("-n", 8, "sh", "-c", "echo output; exit 3")
        self.assertEqual(done.returncode, 3)
        self.assertLessEqual(1, done.stdout.count("output\n"))

    def test_user_signals_are_passed_on(self):
        job = self.start("-n", 2, "sh", "-c", "trap 'echo got; exit 0' USR1;" + self.sleeper(), stdout=subprocess.PIPE)
        self.pids(2)
        job.send_signal(signal.SIGUSR1)
        self.assertEqual(job.stdout.read(), "got\ngot\n")
        self.assertEqual(job.wait(LIMIT), 0)

    def test_stop_and_continue(self):
        job = self.start("-n", 2, "sh", "-c", self.sleeper(), stderr=subprocess.DEVNULL)
        pids = self.pids(2)
        state = lambda pid: text_of(f"/proc/{pid}/stat").rsplit(")", 1)[-1].split()[0]
        job.send_signal(signal.SIGTSTP)
        self.assertTrue(wait_until(lambda: all(state(p) == "T" for p in [job.pid, *pids])))
        job.send_signal(signal.SIGCONT)
        self.assertTrue(wait_until(lambda: all(state(p) != "T" for p in [job.pid, *pids])))
        job.terminate()
        self.assertEqual(job.wait(LIMIT), 128 + signal.SIGTERM)

    def test_nohup_is_respected(self):
        job = self.start("-n", 1, "sh", "-c", self.sleeper() + "; exit 3",
                         preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN), stderr=subprocess.DEVNULL)
        pids = self.pids(1)
        job.send_signal(signal.SIGHUP)
        time.sleep(0.3)
        self.assertIsNone(job.poll())
        os.kill(pids[0], signal.SIGKILL)
        self.assertEqual(job.wait(LIMIT), 128 + signal.SIGKILL)


if __name__ == "__main__":
    unittest.main(verbosity=2)
