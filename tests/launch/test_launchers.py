# SPDX-License-Identifier: BSD-3-Clause
"""What could go wrong: mpiexec executes the wrong launcher, or itself, or passes wrong options."""
import os
import shutil
import unittest

from mpiexec_case import MPIEXEC, Case, clean_env


class Handover(Case):
    """A stand-in for the launcher, first in PATH, prints its arguments."""

    def add_launcher(self, name, text='#!/bin/sh\nfor a in "$@"; do printf "%s " "$a"; done; echo key=${#HERALD_JOB_KEY}\n'):
        folder = os.path.join(self.dir, "bin")
        os.makedirs(folder, exist_ok=True)
        self.file("bin/" + name, text)
        for tool in ("sh", "env"):
            if not os.path.exists(os.path.join(folder, tool)):
                os.symlink(shutil.which(tool), os.path.join(folder, tool))
        return folder

    def hand(self, folder, *args, **env):
        return self.run_job(*args, env=clean_env(PATH=folder, **env))

    def test_order_and_message(self):
        args = ("--host", "nodea,nodeb", "-n", 2, "./prog")
        folder = self.add_launcher("mpiexec.hydra")
        done = self.hand(folder, *args)
        self.assertEqual(done.stdout, "-hosts nodea,nodeb -n 2 ./prog key=32\n")
        self.assertEqual(done.stderr, "mpiexec: 2 hosts: handing over to mpiexec.hydra\n")
        self.assertEqual(self.hand(folder, "-q", *args).stderr, "")
        self.add_launcher("mpirun.openmpi")
        done = self.hand(folder, *args)
        self.assertIn("--host nodea,nodeb", done.stdout)
        self.assertIn("mpirun.openmpi", done.stderr)
        self.add_launcher("prterun")
        self.assertIn("handing over to prterun", self.hand(folder, *args).stderr)
        self.add_launcher("srun", '#!/bin/sh\n[ "$1" = --mpi=list ] && echo pmix_v4 && exit\necho srun "$@"\n')
        self.assertIn("handing over to prterun", self.hand(folder, *args).stderr, "no allocation")
        done = self.hand(folder, *args, SLURM_JOB_ID="1")
        self.assertIn("srun --mpi=pmix --nodes=2 --nodelist=nodea,nodeb", done.stdout)

    def test_engine_names_the_launcher(self):
        for name, answer in (("mpirun.openmpi", ""), ("mpiexec.hydra", ""), ("mpiexec.mpich", ""), ("prterun", ""),
                             ("srun", '[ "$1" = --mpi=list ] && echo pmix && exit\n'), ("ssh", "")):
            folder = self.add_launcher(name, f'#!/bin/sh\n{answer}echo {name}\n')
        args = ("--host", "nodea,nodeb", "-n", 2, "./prog")
        for engine, name in (("openmpi", "mpirun.openmpi"), ("hydra", "mpiexec.hydra"), ("slurm", "srun"), ("prrte", "prterun")):
            for env in ({}, {"SLURM_JOB_ID": "1"}, {"HYDRA_LAUNCHER_EXEC": "x"}, {"OMPI_MCA_plm_rsh_agent": "x"}):
                done = self.hand(folder, "--engine", engine, *args, **env)
                self.assertEqual((done.returncode, done.stdout), (0, name + "\n"), (engine, env, done.stderr))
                self.assertIn(f"handing over to {name}\n", done.stderr)
            os.remove(os.path.join(folder, name))
            if engine != "hydra":  # which has a second name
                done = self.hand(folder, "--engine", engine, *args)
                self.assertEqual((done.returncode, done.stdout), (2, ""), engine)
                self.assertIn(f"--engine {engine}: its program is not in PATH", done.stderr)
        self.assertIn("--engine lsf: write ssh", self.hand(folder, "--engine", "lsf", *args).stderr)

    def test_mapping_reaches_the_launcher_or_is_refused(self):
        folder = self.add_launcher("mpiexec.hydra")
        args = ("--engine", "hydra", "--host", "localhost,nodea,nodeb", "-n", 2)
        self.assertEqual(self.hand(folder, *args, "--nolocal", "--bynode", "prog").stdout,
                         "-hosts nodea,nodeb -ppn 1 -n 2 prog key=32\n")
        done = self.hand(folder, *args, "--rank-by", "node", "prog")
        self.assertEqual((done.returncode, done.stdout), (2, ""))
        self.assertIn("use --engine ssh", done.stderr)
        done = self.hand(folder, *args, "--display-allocation", "prog")
        self.assertIn("mpiexec: host nodea: 1 slot\n", done.stderr)

    def test_slurm_without_pmix_and_several_programs(self):
        folder = self.add_launcher("srun", '#!/bin/sh\n[ "$1" = --mpi=list ] && echo pmi2 && exit\n'
                             'for a in "$@"; do last=$a; done\nwhile read l; do echo "$l"; done < $last; echo "$1"\n')
        done = self.hand(folder, "-n", 2, "a", "b c", ":", "-n", 1, "d", SLURM_JOB_ID="1", SLURM_JOB_NUM_NODES="2")
        self.assertEqual(done.stdout, "0-1 a 'b c'\n2 d\n--mpi=pmi2\n", done.stderr)

    def test_mpirun_is_used_only_if_it_is_open_mpi(self):
        folder = self.add_launcher("mpirun", "#!/bin/sh\necho something else\n")
        self.assertEqual(self.hand(folder, "--host", "nodea", "true").returncode, 1)
        self.add_launcher("mpirun", '#!/bin/sh\n[ "$1" = --version ] && echo "mpirun (Open MPI) 5" && exit\necho ran\n')
        self.assertEqual(self.hand(folder, "--host", "nodea", "true").stdout, "ran\n")

    def test_no_launcher_is_found(self):
        done = self.hand(self.add_launcher("unrelated"), "--host", "nodea,nodeb", "-n", 2, "true")
        self.assertEqual(done.returncode, 1)
        self.assertIn("install", done.stderr)

    def test_mpiexec_does_not_execute_itself(self):
        folder = self.add_launcher("unrelated")
        for name in ("prterun", "mpirun", "mpirun.openmpi", "mpiexec.hydra"):
            os.symlink(MPIEXEC, os.path.join(folder, name))
        done = self.hand(folder, "--host", "nodea", "-n", 2, "true")
        self.assertEqual(done.returncode, 1)
        self.assertIn("install", done.stderr)
        copy = self.add_launcher("unrelated")
        os.remove(os.path.join(folder, "mpiexec.hydra"))
        shutil.copy(MPIEXEC, os.path.join(copy, "mpiexec.hydra"))
        done = self.hand(copy, "--host", "nodea", "-n", 2, "true")
        self.assertEqual(done.returncode, 1)
        self.assertIn("led back", done.stderr)

    def test_host_files_and_variables(self):
        folder = self.add_launcher("mpiexec.hydra")
        hosts = self.file("hosts", "nodea slots=2\nnodeb slots=1\n")
        expected = "-hosts nodea:2,nodeb:1 -n 3 prog key=32\n"
        self.assertEqual(self.hand(folder, "--hostfile", hosts, "prog").stdout, expected)
        for name in ("HYDRA_HOST_FILE", "OMPI_MCA_orte_default_hostfile", "PRTE_MCA_prte_default_hostfile"):
            self.assertEqual(self.hand(folder, "prog", **{name: hosts}).stdout, expected, name)

    def test_local_host_names_need_no_launcher(self):
        folder = self.add_launcher("unrelated")
        for name in ("localhost", os.uname().nodename, "127.0.0.1", "::1"):
            self.assertEqual(self.hand(folder, "--host", name, "-n", 2, "/bin/echo", "x").stdout, "x\nx\n", name)


if __name__ == "__main__":
    unittest.main(verbosity=2)
