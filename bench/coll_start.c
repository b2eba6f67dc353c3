/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_start.c: the cost of starting a collective whose plan is cached, against a persistent one that
   holds its plan. On MPI_COMM_SELF, where a collective is its start only; nanoseconds, minimum of
   several rounds. Arguments: calls in a round (200000). */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 9 };

static double least(double a, double b) { return a == 0 || b < a ? b : a; }

int main(int argc, char** argv) {
  const int calls = argc > 1 ? atoi(argv[1]) : 200000;
  double blocking = 0, nonblocking = 0, persistent = 0;
  double in = 1, out = 0;
  MPI_Request kept, request;
  int round, i, rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Allreduce_init(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF, MPI_INFO_NULL, &kept);
  for (round = 0; round < ROUNDS; round++) {
    double begin = MPI_Wtime();
    for (i = 0; i < calls; i++) MPI_Allreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF);
    blocking = least(blocking, MPI_Wtime() - begin);
    begin = MPI_Wtime();
    for (i = 0; i < calls; i++) {
      MPI_Iallreduce(&in, &out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_SELF, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    nonblocking = least(nonblocking, MPI_Wtime() - begin);
    begin = MPI_Wtime();
    for (i = 0; i < calls; i++) {
      MPI_Start(&kept);
      MPI_Wait(&kept, MPI_STATUS_IGNORE);
    }
    persistent = least(persistent, MPI_Wtime() - begin);
  }
  MPI_Request_free(&kept);
  blocking *= 1e9 / calls;
  nonblocking *= 1e9 / calls;
  persistent *= 1e9 / calls;
  if (rank == 0)
    printf(
        "persistent start and wait %.1f ns\nblocking call %.1f ns (%+.1f)\nnonblocking call and wait %.1f ns "
        "(%+.1f)\n",
        persistent, blocking, blocking - persistent, nonblocking, nonblocking - persistent);
  MPI_Finalize();
  return 0;
}
