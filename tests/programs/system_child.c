/* SPDX-License-Identifier: BSD-3-Clause */
/* What could go wrong: an MPI program that a rank starts with system() takes itself for a rank of the job, or
   ends with an error because the rank's PMI socket is not open in it. It is a job of its own, of one rank. */
#include "check.h"

int main(int argc, char** argv) {
  char command[4200];
  int size, rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc > 1) { /* the child */
    MPI_Finalize();
    return size == 1 ? 0 : 1;
  }
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  snprintf(command, sizeof command, "'%s' child", argv[0]);
  CHECK(system(command) == 0);
  MPI_Barrier(MPI_COMM_WORLD);
  return check_finalize();
}
