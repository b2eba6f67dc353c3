# SPDX-License-Identifier: BSD-3-Clause
"""What could go wrong: ranks get a wrong rank or size, options are misread, errors do not name their cause."""
import os
import re
import subprocess
import unittest

from mpiexec_case import MPIEXEC, PY, SOURCE, Case, clean_env, text_of


class Start(Case):
    def test_rank_and_size(self):
        done = self.run_job("-n", 4, "sh", "-c", "echo $PMI_RANK $PMI_SIZE $MPI_LOCALRANKID $MPI_LOCALNRANKS")
        self.assertEqual(sorted(done.stdout.split("\n")[:-1]), [f"{r} 4 {r} 4" for r in range(4)])
        self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_pretended_hosts(self):
        for how, hosts in (("2", [0, 0, 1, 1, 2]), ("/3", [0, 1, 2, 0, 1])):
            done = self.run_job("-n", 5, "--pretend-hosts", how, "sh", "-c", "echo $PMI_RANK $HERALD_HOST")
            self.assertEqual(sorted(done.stdout.splitlines()), [f"{r} pretended-{h}" for r, h in enumerate(hosts)])
        self.assertEqual(self.run_job("-n", 1, "sh", "-c", "echo -$HERALD_HOST-").stdout, "--\n")
        for how in ("0", "/", "/0", "x", "-1"):
            done = self.run_job("-n", 1, "--pretend-hosts", how, "true")
            self.assertEqual(done.returncode, 2, how)
            self.assertIn("--pretend-hosts", done.stderr)

    def test_64_ranks(self):
        done = self.run_job("-n", 64, "sh", "-c", "echo $PMI_RANK")
        self.assertEqual(sorted(map(int, done.stdout.split())), list(range(64)))
        self.assertEqual(done.returncode, 0)

    def test_programs_separated_by_colons_are_one_job(self):
        path = self.script("kvs = init(); print(rank, size, ask('cmd=get_appnum')['appnum'], sys.argv[1]); ask('cmd=finalize')")
        done = self.run_job("-n", 1, PY, path, "a", ":", "-np", 2, PY, path, "b")
        self.assertEqual(sorted(done.stdout.splitlines()), ["0 3 0 a", "1 3 1 b", "2 3 1 b"], done.stderr)

    def test_count_is_from_cores_or_slots(self):
        done = self.run_job("echo", "x")
        self.assertLessEqual(1, done.stdout.count("x"))
        self.assertLessEqual(done.stdout.count("x"), len(os.sched_getaffinity(0)))
        self.assertEqual(self.run_job("--host", "localhost:3", "echo", "x").stdout.count("x"), 3)
        hosts = self.file("hosts", "localhost slots=2\n127.0.0.1 slots=3\n")
        self.assertEqual(self.run_job("--hostfile", hosts, "echo", "x").stdout.count("x"), 5)
        self.assertEqual(self.run_job("echo", "x", env=clean_env(HYDRA_HOST_FILE=hosts)).stdout.count("x"), 5)

    def test_wdir(self):
        os.mkdir(os.path.join(self.dir, "sub"))
        self.file("sub/prog", "#!/bin/sh\npwd\n")
        for name in ("./prog", "prog"):
            done = self.run_job("-n", 1, "-wdir", os.path.join(self.dir, "sub"), name)
            self.assertEqual(done.stdout.strip(), os.path.realpath(os.path.join(self.dir, "sub")), done.stderr)
        done = self.run_job("-n", 1, "-wdir", self.dir + "/none", "ls")
        self.assertEqual(done.returncode, 2)
        self.assertIn("--wdir", done.stderr)

    def test_environment_forms(self):
        show = ("sh", "-c", "echo ${A-no} ${B-no} ${C-no} ${INH-no}")
        env = clean_env(INH="inh")
        run = lambda *a: self.run_job(*a, env=env).stdout.splitlines()
        self.assertCountEqual(run("-genv", "A", "1", "-n", 1, "-env", "B", "2", *show, ":", "-n", 1, "-x", "C=3", *show),
                         ["1 2 no inh", "1 no 3 inh"])
        self.assertEqual(run("-n", 1, "-genvnone", "-x", "A=1", *show), ["1 no no no"])
        self.assertEqual(run("-n", 1, "-envnone", "-x", "INH", *show), ["no no no inh"])
        self.assertEqual(run("-n", 1, "-genvlist", "INH", *show), ["no no no inh"])
        self.assertEqual(run("-n", 1, "-envall", *show), ["no no no inh"])

    def test_variables_of_another_launcher_are_removed(self):
        env = clean_env(PMI_PORT="h:1", PMI_ID="3", PMIX_NAMESPACE="x", PMI_RANK="9", OMPI_COMM_WORLD_SIZE="4")
        done = self.run_job("-n", 1, "env", env=env)
        self.assertIn("PMI_RANK=0\n", done.stdout)
        for name in ("PMI_PORT", "PMI_ID=", "PMIX_NAMESPACE", "OMPI_COMM_WORLD_SIZE"):
            self.assertNotIn(name, done.stdout)

    def test_job_id_and_key_are_new_for_each_job(self):
        seen = set()
        for _ in range(2):
            lines = set(self.run_job("-n", 3, "sh", "-c", "echo $HERALD_JOB_ID $HERALD_JOB_KEY").stdout.splitlines())
            self.assertEqual(len(lines), 1)
            self.assertRegex(next(iter(lines)), r"^[0-9a-f]{16} [0-9a-f]{32}$")
            seen |= lines
        self.assertEqual(len(seen), 2)

    def test_config_file(self):
        path = self.file("config", "# two programs\n-n 1 echo 'a b'\n-n 2 \\\n echo c\n")
        self.assertEqual(sorted(self.run_job("-configfile", path).stdout.splitlines()), ["a b", "c", "c"])

    def test_binding(self):
        show = (PY, "-c", "import os; print(len(os.sched_getaffinity(0)))")
        allowed = len(os.sched_getaffinity(0))
        self.assertEqual(self.run_job("-n", 1, *show).stdout.strip(), str(allowed))
        self.assertLessEqual(int(self.run_job("-n", 1, "--bind-to", "hwthread", *show).stdout), 1)
        self.assertEqual(self.run_job("-n", 1, "--bind-to", "none", *show).stdout.strip(), str(allowed))
        many = self.run_job("-n", 2 * allowed + 1, "--bind-to", "core", "true")
        self.assertIn("not bound", many.stderr)
        self.assertGreaterEqual(int(self.run_job("-n", 1, "-bind-to", "socket", *show).stdout), 1)
        self.assertIn("--bind-to board", self.run_job("-n", 1, "-bind-to", "board", "true").stderr)
        done = self.run_job("-n", 1, "--bind-to", "core", "--report-bindings", "true")
        self.assertRegex(done.stderr, r"rank 0 on \S+: \[B+[/.]*\]")
        self.assertIn("--map-by wing", self.run_job("-n", 1, "--map-by", "wing", "true").stderr)
        done = self.run_job("-n", 2 * allowed + 1, "--nooversubscribe", "true")
        self.assertEqual(done.returncode, 2)
        self.assertIn("cores", done.stderr)

    def test_files_and_forms_of_output(self):
        name = os.path.join(self.dir, "o")
        words = ("sh", "-c", "echo out $PMI_RANK; echo err $PMI_RANK >&2")
        done = self.run_job("--output-filename", name, "-n", 2, *words)
        self.assertEqual(done.stdout + done.stderr, "")
        self.assertEqual([text_of(f"{name}.{i}.{kind}") for i in (0, 1) for kind in ("out", "err")],
                         ["out 0\n", "err 0\n", "out 1\n", "err 1\n"])
        done = self.run_job("-outfile-pattern", name + "-%r", "-n", 1, *words)
        self.assertEqual((text_of(name + "-0"), done.stderr), ("out 0\n", "err 0\n"))
        self.assertIn("/nowhere/x", self.run_job("-outfile-pattern", "/nowhere/x", "-n", 1, *words).stderr)
        done = self.run_job("--merge-stderr-to-stdout", "-n", 1, *words)
        self.assertEqual((done.stdout, done.stderr), ("out 0\nerr 0\n", ""))
        self.assertRegex(self.run_job("--timestamp-output", "-l", "-n", 1, *words).stdout,
                         r"^\d\d:\d\d:\d\d\.\d\d\d \[0\] out 0\n$")
        done = self.run_job("-print-all-exitcodes", "-disable-auto-cleanup", "-n", 2, "sh", "-c", "exit $PMI_RANK")
        self.assertIn("mpiexec: rank 0: code 0\nmpiexec: rank 1: code 1\n", done.stderr)
        self.assertIn("2 ranks", self.run_job("--display", "map", "-n", 2, "true").stderr)

    def test_script_without_interpreter_line(self):
        path = self.file("plain", "echo plain $1\n")
        self.assertEqual(self.run_job("-n", 1, path, "arg").stdout, "plain arg\n")

    def test_ranks_inherit_no_descriptors_of_mpiexec(self):
        done = self.run_job("-n", 2, "sh", "-c", "ls /proc/self/fd | wc -l")
        for count in done.stdout.split():
            self.assertLessEqual(int(count), 6)  # 0 1 2, the PMI socket, the folder, one inherited

    def test_mpirun_is_the_same_program(self):
        mpirun = os.path.join(os.path.dirname(MPIEXEC), "mpirun")
        self.assertTrue(os.path.samefile(mpirun, MPIEXEC))


class Errors(Case):
    def check(self, code, text, *args, **kw):
        done = self.run_job(*args, **kw)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn(text, done.stderr)
        self.assertEqual(done.stdout, "")

    def test_programs_that_cannot_run(self):
        self.check(127, "no-such-program", "-n", 2, "no-such-program")
        self.check(127, "./no-such", "-n", 2, "./no-such")
        self.check(126, "data", "-n", 2, self.file("data", "x", 0o644))
        self.check(126, self.dir, "-n", 2, self.dir)
        self.check(127, "no-such-program", "-n", 1, "true", ":", "-n", 1, "no-such-program")
        bad = self.file("badshebang", "#!/no/such/interpreter\n")
        done = self.run_job("-n", 2, bad)
        self.assertEqual(done.returncode, 127)
        self.assertIn("badshebang", done.stderr)

    def test_options(self):
        self.check(2, "--tag-output", "--tag-outputt", "-n", 2, "true")
        self.check(2, "--frobnicate-zzz", "--frobnicate-zzz", "true")
        self.check(2, "-prepend-pattern", "-prepend-pattern", "x", "true")
        self.check(2, "no program", "-n", 2)
        self.check(2, "no program")
        for count in ("0", "-1", "1000000000", "many"):
            self.check(2, f"-n {count}", "-n", count, "true")
        self.check(2, "MPIEXEC_TIMEOUT", "-n", 1, "true", env=clean_env(MPIEXEC_TIMEOUT="soon"))
        self.check(2, "/no/such/hosts", "--hostfile", "/no/such/hosts", "true")
        self.check(2, "/no/such/config", "-configfile", "/no/such/config")

    def test_more_ranks_than_descriptors(self):
        done = self.run_job("-n", 1000, "true", preexec_fn=self.few_files)
        self.assertEqual(done.returncode, 1)
        self.assertIn("open files", done.stderr)

    @staticmethod
    def few_files():
        import resource
        resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256))

    @unittest.skipUnless(os.getuid() == 0, "needs a user without processes")
    def test_more_ranks_than_processes_allowed(self):
        def few_processes():
            import resource
            os.setgroups([])
            os.setgid(65533)
            os.setuid(65533)
            resource.setrlimit(resource.RLIMIT_NPROC, (12, 12))
        try:
            if self.run_job("-n", 1, "true", preexec_fn=few_processes).returncode:
                self.skipTest("another user cannot run it")
        except PermissionError:
            self.skipTest("another user may not execute it")
        done = self.run_job("-n", 40, "sleep", "100", preexec_fn=few_processes)
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, r"cannot start rank \d+ of 40 .*ulimit -u")
        self.assertEqual(self.run_job("-n", 8, "true", preexec_fn=few_processes).returncode, 0, "processes remain")

    def test_soft_limit_of_files_is_raised_for_mpiexec_but_not_for_ranks(self):
        def soft():
            import resource
            resource.setrlimit(resource.RLIMIT_NOFILE, (64, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
        done = self.run_job("-n", 32, "sh", "-c", "ulimit -Sn", preexec_fn=soft)
        self.assertEqual(done.stdout.split(), ["64"] * 32, done.stderr)

    def test_help_and_version_and_manual(self):
        done = self.run_job("--help")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        words = set(re.findall(r"[\w-]+", text_of(os.path.join(SOURCE, "docs/man/mpiexec.1"))))
        words |= {w.lstrip("-") for w in words}
        names = re.findall(r"^  (-.*(?:\n  -.*)*)", done.stdout, re.M)
        options = set(re.findall(r"(?:^|[ ,\n])--?([A-Za-z][\w-]*)", "\n".join(names)))
        self.assertGreater(len(options), 60)
        self.assertEqual(sorted(options - words), [], "options that the manual does not name")
        self.assertNotIn("%%", done.stdout)
        self.assertRegex(self.run_job("-V").stdout, r"Herald.*\d")

    @unittest.skipUnless(os.path.exists("/dev/full"), "no /dev/full")
    def test_help_that_cannot_be_written_is_an_error(self):
        with open("/dev/full", "w") as full:
            self.assertEqual(subprocess.run([MPIEXEC, "--help"], stdout=full, env=clean_env()).returncode, 1)

    def test_large_and_small_environments(self):
        env = {f"V{i}": "x" * 60000 for i in range(20)}
        done = self.run_job("-n", 2, "/bin/echo", "ok", env=env)
        self.assertEqual(done.stdout, "ok\nok\n", done.stderr)
        self.assertEqual(self.run_job("-n", 1, "echo", "ok", env={"X": "1"}).stdout, "ok\n")


if __name__ == "__main__":
    unittest.main(verbosity=2)
