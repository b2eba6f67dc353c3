/* SPDX-License-Identifier: BSD-3-Clause */
/* A profiler for C alone: it sees the calls of Fortran too, once each. */
#include <mpi.h>

static int barriers;
int barriers_in_c(void) { return barriers; }

int MPI_Barrier(MPI_Comm comm) {
  barriers++;
  return PMPI_Barrier(comm);
}
