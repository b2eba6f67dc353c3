/* SPDX-License-Identifier: BSD-3-Clause */
/* What could go wrong: a blocking collective gives a wrong result for some size, root or place of its input;
   the second call, which finds a cached plan, uses the buffers of the first. */
#include "coll_data.h"

int main(int argc, char** argv) {
  static const int counts[] = {0, 1, 5, 300, 20000};
  int op, k, in_place, turn, size;
  MPI_Comm split;
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (op = 0; op < COLLECTIVES; op++)
    for (k = 0; k < 5; k++)
      for (in_place = 0; in_place < 2; in_place++)
        for (turn = 0; turn < 2; turn++) {
          coll_t c = coll_new(op, counts[k], (op + k) % size, in_place, MPI_COMM_WORLD);
          coll_fill(&c, turn);
          coll_call(&c, BLOCKING);
          coll_check(&c);
          coll_free(&c);
        }
  /* Every root, and a communicator whose ranks run backwards. */
  {
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    OK(MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &split));
    MPI_Comm_size(split, &size);
    for (op = 0; op < COLLECTIVES; op++)
      for (k = 0; k < size; k++) {
        coll_t c = coll_new(op, 7, k, k % 2, split);
        coll_fill(&c, k);
        coll_call(&c, BLOCKING);
        coll_check(&c);
        coll_free(&c);
      }
    OK(MPI_Comm_free(&split));
  }
  return check_finalize();
}
