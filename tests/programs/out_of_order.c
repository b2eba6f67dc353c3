/* SPDX-License-Identifier: BSD-3-Clause */
/* out_of_order MESSAGES: rank 0 sends many short messages with blocking sends, and rank 1 receives the last
   of them first. What could go wrong: rank 0 waits for memory at rank 1, which waits for a message that rank
   0 has not sent: both wait for ever, where a library that buffers goes on. */
#include "check.h"

int main(int argc, char** argv) {
  int rank = 0, size = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int messages = argc > 1 ? atoi(argv[1]) : 40000;
  enum { kInts = 25 };
  int data[kInts];
  for (int i = 0; rank == 0 && i < messages; ++i) {
    for (int k = 0; k < kInts; ++k) data[k] = i + k;
    OK(MPI_Send(data, kInts, MPI_INT, 1, i, MPI_COMM_WORLD));
  }
  for (int i = messages - 1; rank == 1 && i >= 0; --i) {
    OK(MPI_Recv(data, kInts, MPI_INT, 0, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
    for (int k = 0; k < kInts; ++k) CHECK(data[k] == i + k);
  }
  return check_finalize();
}
