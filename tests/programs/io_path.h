/* SPDX-License-Identifier: BSD-3-Clause */
/* io_path.h: the name of a file for one run of a test, the same at all ranks. HERALD_TEST_DIR: its directory.
 */
#ifndef HERALD_TESTS_IO_PATH_H
#define HERALD_TESTS_IO_PATH_H
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char io_path[256];

static inline void make_io_path(const char* test) {
  const char* folder = getenv("HERALD_TEST_DIR");
  snprintf(io_path, sizeof io_path, "%s/herald-%s-%ld", folder != NULL ? folder : "/tmp", test,
           (long)getpid());
  MPI_Bcast(io_path, sizeof io_path, MPI_CHAR, 0, MPI_COMM_WORLD);
}
#endif
