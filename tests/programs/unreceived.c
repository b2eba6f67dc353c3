/* SPDX-License-Identifier: BSD-3-Clause */
/* What could go wrong: messages that no receive takes vanish without a word at MPI_Finalize, or each of them
   gets a line of its own. Rank 0 gets two messages from each other rank and receives one of them. */
#include "check.h"

int main(int argc, char** argv) {
  int rank = 0, size = 0, number = 7;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int tag = 1; rank != 0 && tag < 3; ++tag) OK(MPI_Send(&number, 1, MPI_INT, 0, tag, MPI_COMM_WORLD));
  MPI_Barrier(MPI_COMM_WORLD);
  for (int from = 1; rank == 0 && from < size; ++from) {
    OK(MPI_Probe(from, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    OK(MPI_Recv(&number, 1, MPI_INT, from, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  }
  return check_finalize();
}
