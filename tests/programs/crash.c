/* SPDX-License-Identifier: BSD-3-Clause */
/* Rank 1 prints something and ends by a signal; crash.py looks at what is left of it. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char** argv) {
  const char* name = argc > 1 ? argv[1] : "";
  int rank, data = 0;
  volatile int* volatile nowhere = NULL;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD); /* both are ready for signals */
  if (rank == 1) {
    printf("a whole line\n");
    printf("last words");
    if (strcmp(name, "segv") == 0) *nowhere = 1;
    if (strcmp(name, "abort") == 0) abort();
  }
  MPI_Recv(&data, 1, MPI_INT, rank ^ 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE); /* never comes */
  MPI_Finalize();
  return 0;
}
