/* SPDX-License-Identifier: BSD-3-Clause */
/* loops.c: collectives in plain loops, for mpicc --plans: one-to-many and many-to-many (figures 6 and 7 of
   "Group Management Schemes for Implementing MPI Collective Communication over IP-Multicast"), fixed patterns
   of scatterv, allgatherv and alltoallv, and a Jacobi solver with an allreduce per step.

     loops PATTERN [BYTES [STEPS]]      one_to_many, many_to_many, scatterv, allgatherv, alltoallv, jacobi

   Prints, in microseconds: the first ten iterations together, and the median and the mean of the others; the
   slowest rank counts. Where a root can run ahead, messages arrive in bursts, and only the mean tells. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 64, FIRST = 10, MOST_STEPS = 5000, GRID = 256 };

static int rank, size, steps = 200;
static int counts[MOST], places[MOST], takes[MOST], from[MOST];
static double took[MOST_STEPS];
static double grid[2][GRID][GRID];

static int compare(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return x < y ? -1 : x > y;
}

static void report(const char* name, int bytes) {
  double worst[MOST_STEPS], first = 0, others = 0;
  MPI_Reduce(took, worst, steps, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  if (rank != 0) return;
  for (int i = 0; i < FIRST; ++i) first += worst[i];
  for (int i = FIRST; i < steps; ++i) others += worst[i];
  qsort(worst + FIRST, (size_t)(steps - FIRST), sizeof(double), compare);
  printf("%s %d bytes: first %d iterations %.1f us, then %.1f us each, mean %.1f us\n", name, bytes, FIRST,
         first * 1e6, worst[FIRST + (steps - FIRST) / 2] * 1e6, others / (steps - FIRST) * 1e6);
}

/* The root has something for five ranks, or as many as there are. */
static void one_to_many(char* out, char* in, int bytes) {
  const int mine = rank >= 1 && rank <= 5 ? bytes : 0;
  for (int i = 0; i < size; ++i) counts[i] = i >= 1 && i <= 5 ? bytes : 0, places[i] = i * bytes;
  for (int i = 0; i < steps; ++i) {
    const double begun = MPI_Wtime();
    MPI_Scatterv(out, counts, places, MPI_CHAR, in, mine, MPI_CHAR, 0, MPI_COMM_WORLD);
    took[i] = MPI_Wtime() - begun;
  }
}

/* Each of the first half of the ranks has something for each of them. */
static void many_to_many(char* out, char* in, int bytes) {
  for (int i = 0; i < size; ++i) {
    const int both = i < size / 2 && rank < size / 2;
    counts[i] = takes[i] = both ? bytes : 0;
    places[i] = from[i] = i * bytes;
  }
  for (int i = 0; i < steps; ++i) {
    const double begun = MPI_Wtime();
    MPI_Alltoallv(out, counts, places, MPI_CHAR, in, takes, from, MPI_CHAR, MPI_COMM_WORLD);
    took[i] = MPI_Wtime() - begun;
  }
}

/* Unequal parts: rank i has, or gets, (i % 3 + 1) thirds of `bytes`. */
static int part(int i, int bytes) { return (i % 3 + 1) * bytes / 3; }

static void scatterv(char* out, char* in, int bytes) {
  const int mine = part(rank, bytes);
  for (int i = 0; i < size; ++i) counts[i] = part(i, bytes), places[i] = i * bytes;
  for (int i = 0; i < steps; ++i) {
    const double begun = MPI_Wtime();
    MPI_Scatterv(out, counts, places, MPI_CHAR, in, mine, MPI_CHAR, 0, MPI_COMM_WORLD);
    took[i] = MPI_Wtime() - begun;
  }
}

static void allgatherv(char* out, char* in, int bytes) {
  const int mine = part(rank, bytes);
  for (int i = 0; i < size; ++i) counts[i] = part(i, bytes), places[i] = i * bytes;
  for (int i = 0; i < steps; ++i) {
    const double begun = MPI_Wtime();
    MPI_Allgatherv(out, mine, MPI_CHAR, in, counts, places, MPI_CHAR, MPI_COMM_WORLD);
    took[i] = MPI_Wtime() - begun;
  }
}

static void alltoallv(char* out, char* in, int bytes) {
  for (int i = 0; i < size; ++i) {
    counts[i] = part(rank + i, bytes);
    takes[i] = part(rank + i, bytes);
    places[i] = from[i] = i * bytes;
  }
  for (int i = 0; i < steps; ++i) {
    const double begun = MPI_Wtime();
    MPI_Alltoallv(out, counts, places, MPI_CHAR, in, takes, from, MPI_CHAR, MPI_COMM_WORLD);
    took[i] = MPI_Wtime() - begun;
  }
}

/* The change of a step is summed up while the result is copied back. */
static void jacobi(void) {
  static double change, sum;
  for (int i = 0; i < GRID; ++i) grid[0][i][0] = rank + 1;
  for (int i = 0; i < steps; ++i) {
    const double begun = MPI_Wtime();
    double mine = 0;
    for (int y = 1; y < GRID - 1; ++y)
      for (int x = 1; x < GRID - 1; ++x) {
        const double next =
            (grid[0][y - 1][x] + grid[0][y + 1][x] + grid[0][y][x - 1] + grid[0][y][x + 1]) * 0.25;
        mine += (next - grid[0][y][x]) * (next - grid[0][y][x]);
        grid[1][y][x] = next;
      }
    change = mine;
    MPI_Allreduce(&change, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    for (int y = 1; y < GRID - 1; ++y)
      for (int x = 1; x < GRID - 1; ++x) grid[0][y][x] = grid[1][y][x];
    if (sum < 1e-12) break;
    took[i] = MPI_Wtime() - begun;
  }
}

int main(int argc, char** argv) {
  int bytes;
  const char* pattern;
  char *out, *in;
  MPI_Init(&argc, &argv);
  pattern = argc > 1 ? argv[1] : "one_to_many";
  bytes = argc > 2 ? atoi(argv[2]) : 1000;
  if (argc > 3) steps = atoi(argv[3]);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size > MOST || steps <= FIRST || steps > MOST_STEPS || bytes < 0) {
    fprintf(stderr, "usage: loops PATTERN [BYTES [STEPS]]: up to %d ranks, %d to %d steps\n", (int)MOST,
            FIRST + 1, (int)MOST_STEPS);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  out = calloc((size_t)size, (size_t)bytes + 1);
  in = calloc((size_t)size, (size_t)bytes + 1);
  MPI_Barrier(MPI_COMM_WORLD);
  if (strcmp(pattern, "one_to_many") == 0) one_to_many(out, in, bytes);
  if (strcmp(pattern, "many_to_many") == 0) many_to_many(out, in, bytes);
  if (strcmp(pattern, "scatterv") == 0) scatterv(out, in, bytes);
  if (strcmp(pattern, "allgatherv") == 0) allgatherv(out, in, bytes);
  if (strcmp(pattern, "alltoallv") == 0) alltoallv(out, in, bytes);
  if (strcmp(pattern, "jacobi") == 0) jacobi();
  report(pattern, bytes);
  free(out);
  free(in);
  MPI_Finalize();
  return 0;
}
