/* SPDX-License-Identifier: BSD-3-Clause */
/* abort_part: MPI_Abort on a communicator of the odd ranks. The even ones go on: they communicate among each
   other, and MPI_Finalize returns. abort_part.py checks the end of the job. Rank 1 hears from each rank
   before it aborts: a barrier would not do, because another odd rank may have messages of it left to pass on.
 */
#include <unistd.h>

#include "check.h"

int main(int argc, char** argv) {
  int rank, size, sum = 0, even;
  MPI_Comm part;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &part);
  if (rank != 1) MPI_Send(&rank, 1, MPI_INT, 1, 98, MPI_COMM_WORLD);
  if (rank == 1) {
    for (int others = size - 1; others > 0; others--)
      MPI_Recv(&sum, 1, MPI_INT, MPI_ANY_SOURCE, 98, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    printf("before the end\n");
    MPI_Abort(part, 7);
  }
  if (rank % 2 == 1) MPI_Recv(&sum, 1, MPI_INT, 0, 99, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  for (int round = 0; round < 20; round++) {
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, part);
    usleep(20000);
  }
  MPI_Comm_size(part, &even);
  printf("rank %d: %s\n", rank, sum == even * (even - 1) ? "right" : "wrong");
  MPI_Finalize();
  printf("rank %d: finalized\n", rank);
  return 0;
}
