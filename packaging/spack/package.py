# SPDX-License-Identifier: BSD-3-Clause
"""Spack recipe of Herald. The source is a folder or a tarball of yours: `spack develop -p /path/to/herald herald@0.1.0`,
or set `url` to where you keep the result of `make tarball`."""
import os

from spack.package import *


class Herald(CMakePackage):
    """MPI 5.0 with the standard ABI for clusters joined by Ethernet: shared memory inside hosts, UDP and reliable
    multicast between them."""

    license("BSD-3-Clause")
    version("0.1.0")

    variant("fortran", default=True, description="mpif.h, use mpi, use mpi_f08 and mpifort")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("fortran", type="build", when="+fortran")
    depends_on("cmake@3.22:", type="build")
    depends_on("ninja", type="build")
    depends_on("python@3.7:", type="build")
    depends_on("cli11@2:", type="build")
    depends_on("fmt@9:")
    depends_on("nlohmann-json@3.10:", type="build")

    provides("mpi@:5.0")
    conflicts("%gcc@:11", msg="Herald is written in C++20 for GCC 12 or newer")

    generator("ninja")

    def cmake_args(self):
        return [
            self.define("HERALD_TESTS", False),
            self.define("CMAKE_INSTALL_LIBDIR", "lib"),
            self.define_from_variant("HERALD_FORTRAN", "fortran"),
        ]

    def _wrappers(self):
        wrappers = {"MPICC": "mpicc", "MPICXX": "mpicxx"}
        if self.spec.satisfies("+fortran"):
            wrappers.update({"MPIFC": "mpifort", "MPIF90": "mpif90", "MPIF77": "mpif77"})
        return {name: os.path.join(self.prefix.bin, command) for name, command in wrappers.items()}

    def setup_run_environment(self, env):
        for name, path in self._wrappers().items():
            env.set(name, path)

    def setup_dependent_build_environment(self, env, dependent_spec):
        self.setup_run_environment(env)
        env.set("HERALD_CC", dependent_spec.package.module.spack_cc)
        env.set("HERALD_CXX", dependent_spec.package.module.spack_cxx)

    def setup_dependent_package(self, module, dependent_spec):
        self.spec.mpicc = os.path.join(self.prefix.bin, "mpicc")
        self.spec.mpicxx = os.path.join(self.prefix.bin, "mpicxx")
        if self.spec.satisfies("+fortran"):
            self.spec.mpifc = os.path.join(self.prefix.bin, "mpifort")
            self.spec.mpif77 = os.path.join(self.prefix.bin, "mpif77")
