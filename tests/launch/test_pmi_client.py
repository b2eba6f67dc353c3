# SPDX-License-Identifier: BSD-3-Clause
"""What could go wrong: the PMI exchange of real processes fails, or a misbehaving rank blocks the others."""
import os
import shutil
import subprocess
import textwrap
import unittest

from mpiexec_case import PY, Case, clean_env


class Pmi(Case):
    def test_exchange(self):
        path = self.script("""
            kvs = init()
            m = ask('cmd=get_maxes'); assert m['keylen_max'] == '64' and m['vallen_max'] == '1024', m
            assert ask('cmd=get_universe_size')['size'] == str(size)
            for turn in range(3):
                assert ask(f'cmd=put kvsname={kvs} key=r{rank}-{turn} value={rank * 7:x}')['rc'] == '0'
                assert ask('cmd=barrier_in')['cmd'] == 'barrier_out'
                for r in range(size):
                    assert ask(f'cmd=get kvsname={kvs} key=r{r}-{turn}')['value'] == f'{r * 7:x}'
            assert ask(f'cmd=get kvsname={kvs} key=PMI_process_mapping')['value'] == f'(vector,(0,1,{size}))'
            assert ask('cmd=lookup_name service=a%d' % rank)['rc'] == '-1'
            assert ask('cmd=publish_name service=a%d port=b' % rank)['rc'] == '0'
            assert ask('cmd=publish_name service=a%d port=c' % rank)['rc'] == '-1'
            assert ask('cmd=lookup_name service=a%d' % rank)['port'] == 'b'
            assert ask('cmd=unpublish_name service=a%d' % rank)['rc'] == '0'
            assert ask('cmd=unpublish_name service=a%d' % rank)['rc'] == '-1'
            assert ask('cmd=finalize')['cmd'] == 'finalize_ack'
            print('good')
        """)
        done = self.run_job("-n", 12, PY, path)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "good\n" * 12, ""))

    def test_spawn_of_nothing(self):
        path = self.script("""
            init()
            assert ask('mcmd=spawn\\nnprocs=1\\nexecname=/no/such\\ntotspawns=1\\nendcmd')['rc'] == '-1'
            assert ask('cmd=finalize')['cmd'] == 'finalize_ack'
            print('good')
        """)
        done = self.run_job("-n", 1, PY, path)
        self.assertEqual((done.returncode, done.stdout), (0, "good\n"))
        self.assertIn("/no/such", done.stderr)

    def test_abort(self):
        path = self.script("""
            init()
            if rank == 1:
                say('cmd=abort exitcode=9 message=no more'); os._exit(1)
            time.sleep(100)
        """)
        done = self.run_job("-n", 3, PY, path)
        self.assertEqual(done.returncode, 9)
        self.assertRegex(done.stderr, r"rank 1 .*code 9.*no more")

    def test_failing_between_init_and_finalize(self):
        path = self.script("init()\nif rank == 2: sys.exit(4)\ntime.sleep(100)")
        self.assertEqual(self.run_job("-n", 3, PY, path).returncode, 4)

    def test_exit_without_finalize_while_others_run(self):
        path = self.script("init()\nif rank == 2: os._exit(0)\ntime.sleep(100)")
        done = self.run_job("-n", 3, PY, path)
        self.assertEqual(done.returncode, 1)
        self.assertIn("rank 2", done.stderr)

    def test_barrier_that_cannot_complete(self):
        for text in ("init()\nif rank == 1: os._exit(0)\nask('cmd=barrier_in')",
                     "if rank == 1: os._exit(0)\ninit(); ask('cmd=barrier_in')",
                     "init()\nif rank == 1: ask('cmd=finalize'); os._exit(0)\nask('cmd=barrier_in')"):
            done = self.run_job("-n", 3, PY, self.script(text))
            self.assertEqual(done.returncode, 1, text)
            self.assertIn("rank 1", done.stderr)

    def test_flooding_or_closing_the_socket_affects_no_other_rank(self):
        path = self.script("""
            if rank == 0:
                s.close()
            elif rank == 1:
                s.setblocking(False)
                try:
                    for _ in range(100000): s.send(b'cmd=get_maxes\\n' * 10)
                except BlockingIOError:
                    pass
            else:
                init(); ask('cmd=finalize'); print('good')
        """)
        done = self.run_job("-n", 3, PY, path)
        self.assertEqual((done.returncode, done.stdout), (0, "good\n"), done.stderr)

    @unittest.skipUnless(shutil.which("mpicc.mpich"), "MPICH is not installed")
    def test_programs_of_mpich(self):
        source = self.file("hello.c", textwrap.dedent("""
            #include <mpi.h>
            #include <stdio.h>
            int main(int argc, char **argv) {
              int rank, size, one = 1, sum = 0, *app, flag;
              MPI_Init(&argc, &argv);
              MPI_Comm_rank(MPI_COMM_WORLD, &rank);
              MPI_Comm_size(MPI_COMM_WORLD, &size);
              MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
              MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_APPNUM, &app, &flag);
              printf("%d %d %d %d\\n", rank, size, sum, flag ? *app : -1);
              fflush(stdout);
              if (argc > 1) {
                if (rank == 1) MPI_Abort(MPI_COMM_WORLD, 6);
                MPI_Barrier(MPI_COMM_WORLD);
              }
              MPI_Finalize();
              return 0;
            }
        """))
        program = os.path.join(self.dir, "hello")
        built = subprocess.run(["mpicc.mpich", source, "-o", program], capture_output=True, text=True)
        if "mpi.h: No such file" in built.stderr:
            self.skipTest("MPICH's headers are not installed")
        self.assertEqual(built.returncode, 0, built.stderr)
        done = self.run_job("-n", 2, program, ":", "-n", 1, program)
        self.assertEqual(sorted(done.stdout.splitlines()), ["0 3 3 0", "1 3 3 0", "2 3 3 1"], done.stderr)
        self.assertEqual(done.returncode, 0)
        self.assertEqual(self.run_job("-n", 2, program, "abort").returncode, 6)


class AnotherLibrary(Case):
    def test_processes_that_never_contact_mpiexec_are_reported_with_their_library(self):
        compiler = shutil.which("mpicc.openmpi")
        if not compiler:
            self.skipTest("there is no Open MPI here")
        source = self.file("alone.c", """
            #include <mpi.h>
            int main(int argc, char** argv) { MPI_Init(&argc, &argv); MPI_Finalize(); return 0; }
        """)
        program = os.path.join(self.dir, "alone")
        built = subprocess.run([compiler, source, "-o", program], capture_output=True, text=True)
        if "mpi.h: No such file" in built.stderr:
            self.skipTest("Open MPI's headers are not installed")
        self.assertEqual(built.returncode, 0, built.stderr)
        env = clean_env(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        done = self.run_job("-n", 2, program, env=env)
        self.assertEqual(done.returncode, 1, done.stderr)
        self.assertRegex(done.stderr, r"never contacted mpiexec: .*alone uses Open MPI \(libmpi\.so\.40")
        self.assertEqual(self.run_job("-n", 1, program, env=env).returncode, 0, "one rank is right to be alone")
        self.assertEqual(self.run_job("-n", 2, "true").stderr, "", "not an MPI program")


if __name__ == "__main__":
    unittest.main(verbosity=2)
