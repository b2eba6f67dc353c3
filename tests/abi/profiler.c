/* SPDX-License-Identifier: BSD-3-Clause */
/* What could go wrong: a profiler's MPI_Send does not replace the library's, or PMPI_Send calls it again. */
#include <mpi.h>
#include <stdio.h>

static int sends, barriers;

int MPI_Send(const void* buf, int count, MPI_Datatype type, int dest, int tag, MPI_Comm comm) {
  sends++;
  return PMPI_Send(buf, count, type, dest, tag, comm);
}
int MPI_Barrier(MPI_Comm comm) {
  barriers++;
  return PMPI_Barrier(comm);
}

int main(int argc, char** argv) {
  int value = 3, in = 0;
  MPI_Request request;
  MPI_Init(&argc, &argv);
  MPI_Irecv(&in, 1, MPI_INT, 0, 0, MPI_COMM_SELF, &request);
  MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_SELF);
  MPI_Wait(&request, MPI_STATUS_IGNORE);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  if (sends != 1 || barriers != 1 || in != 3) return 1;
  puts("passed");
  return 0;
}
