// SPDX-License-Identifier: BSD-3-Clause
// startup.c: start, barrier, end. bench/run.py measures the time from outside; with an argument, rank 0 says
// when the barrier is over.
#include <mpi.h>
#include <stdio.h>

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (argc > 1 && rank == 0) puts("started"), fflush(stdout);
  MPI_Finalize();
  return 0;
}
