// SPDX-License-Identifier: BSD-3-Clause
// crowd.c: oversubscribed ranks: 8 bytes around a ring of all ranks, and a barrier; built against any MPI.
//   crowd SECONDS      prints "ring RANKS SECONDS" for one hop and "barrier RANKS SECONDS"
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

static int rank, size;

static double ring(int times) {
  char word[8] = {0};
  const int next = (rank + 1) % size, before = (rank + size - 1) % size;
  const double start = MPI_Wtime();
  for (int i = 0; i < times; ++i) {
    if (rank == 0) MPI_Send(word, 8, MPI_CHAR, next, 0, MPI_COMM_WORLD);
    MPI_Recv(word, 8, MPI_CHAR, before, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank != 0) MPI_Send(word, 8, MPI_CHAR, next, 0, MPI_COMM_WORLD);
  }
  return (MPI_Wtime() - start) / times / size;
}

static double barrier(int times) {
  const double start = MPI_Wtime();
  for (int i = 0; i < times; ++i) MPI_Barrier(MPI_COMM_WORLD);
  return (MPI_Wtime() - start) / times;
}

enum { kTrial = 50 };

// Repetitions that fit into the time, from a trial after a warm-up; rank 0 decides.
static void measure(const char* name, double (*run)(int), double hops, double seconds) {
  (void)run(kTrial);
  const double once = run(kTrial) * hops;
  int times = once > 0 && seconds / once > 1 ? (int)(seconds / once) : 1;
  if (times > 100000) times = 100000;
  MPI_Bcast(&times, 1, MPI_INT, 0, MPI_COMM_WORLD);
  const double took = run(times);
  if (rank == 0) printf("%s %d %.10g\n", name, size, took);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const double seconds = argc > 1 ? atof(argv[1]) : 0.2;
  measure("ring", ring, size, seconds);
  measure("barrier", barrier, 1, seconds);
  MPI_Finalize();
  return 0;
}
