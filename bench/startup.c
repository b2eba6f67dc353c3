// SPDX-License-Identifier: BSD-3-Clause
// startup.c: start, barrier, end. bench/run.py measures the time from outside.
#include <mpi.h>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Finalize();
  return 0;
}
