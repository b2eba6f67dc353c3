/* SPDX-License-Identifier: BSD-3-Clause */
/* What could go wrong: a persistent collective sends what the buffers held at its init call; its second run
   matches messages of the first; several of them, started in a different order by each rank, are mixed up. */
#include "coll_data.h"

int main(int argc, char** argv) {
  static coll_t c[COLLECTIVES * 2];
  int i, turn, rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (i = 0; i < COLLECTIVES * 2; i++) {
    c[i] = coll_new(i % COLLECTIVES, i < COLLECTIVES ? 3 : 6000, i % size, i / 3 % 2, MPI_COMM_WORLD);
    coll_fill(&c[i], 0);
    coll_call(&c[i], PERSISTENT);
  }
  for (turn = 1; turn <= 5; turn++) {
    int flag = 0;
    OK(MPI_Test(&c[0].request, &flag, MPI_STATUS_IGNORE)); /* inactive: done at once */
    CHECK(flag);
    for (i = 0; i < COLLECTIVES * 2; i++) coll_fill(&c[i], turn);
    /* Matching goes by the order of the init calls. */
    for (i = 0; i < COLLECTIVES * 2; i++)
      OK(MPI_Start(&c[(i + rank * 5 + turn) % (COLLECTIVES * 2)].request));
    if (turn == 3) OK(MPI_Barrier(MPI_COMM_WORLD)); /* a nonpersistent call in between does not disturb */
    for (i = COLLECTIVES * 2 - 1; i >= 0; i--) OK(MPI_Wait(&c[i].request, MPI_STATUS_IGNORE));
    for (i = 0; i < COLLECTIVES * 2; i++) coll_check(&c[i]);
  }
  for (i = 0; i < COLLECTIVES * 2; i++) {
    OK(MPI_Request_free(&c[i].request));
    coll_free(&c[i]);
  }
  return check_finalize();
}
