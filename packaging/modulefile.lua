-- SPDX-License-Identifier: BSD-3-Clause
-- For Lmod and Environment Modules 5 or newer: copy to MODULEPATH/herald/VERSION.lua and set the prefix.
local prefix = "/opt/herald"

help([[Herald: MPI for clusters joined by Ethernet. mpicc, mpicxx, mpifort, mpiexec, herald (see: man herald).]])
whatis("Name: Herald")
whatis("Category: MPI library")
whatis("Description: MPI 5.0 with the standard ABI, over shared memory, UDP and multicast")
family("mpi")
conflict("openmpi", "mpich", "impi")

setenv("MPI_HOME", prefix)
prepend_path("PATH", pathJoin(prefix, "bin"))
prepend_path("LD_LIBRARY_PATH", pathJoin(prefix, "lib"))
prepend_path("PKG_CONFIG_PATH", pathJoin(prefix, "lib", "pkgconfig"))
prepend_path("CMAKE_PREFIX_PATH", prefix)
prepend_path("MANPATH", pathJoin(prefix, "share", "man"))
