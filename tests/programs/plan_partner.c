/* SPDX-License-Identifier: BSD-3-Clause */
/* What could go wrong: the hint that messages will go to a rank of another host, or come from one, does
   nothing; or it asks again and again a rank that has answered. */
#include <mpix.h>

#include "counter.h"

/* Rank 0 has not heard from rank 1 yet. */
static void prepare(int operation, int partner) {
  OK(MPIX_Plan_prepare(operation, MPI_COMM_WORLD, partner, NULL, 0, 100, NULL, NULL, MPI_INT, NULL, 100, NULL,
                       NULL, MPI_INT, NULL));
}

int main(int argc, char** argv) {
  int rank, flag, operation = argc > 1 ? MPIX_PLAN_RECV : MPIX_PLAN_SEND;
  OK(MPI_Init(&argc, &argv));
  open_counter("herald_probes_sent");
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) {
    const unsigned long long before = counted();
    prepare(operation, 1);
    CHECK(counted() > before);
  }
  int one = 1;
  if (rank == 0) OK(MPI_Send(&one, 1, MPI_INT, 1, 0, MPI_COMM_WORLD));
  if (rank == 1) OK(MPI_Recv(&one, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == 0) {
    for (int i = 0; i < 1000; ++i)
      OK(MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &flag, MPI_STATUS_IGNORE));
    const unsigned long long before = counted();
    for (int i = 0; i < 100; ++i) prepare(operation, 1);
    CHECK(counted() < before + 10);
  }
  close_counter();
  return check_finalize();
}
