// SPDX-License-Identifier: BSD-3-Clause
// lab_coll.c: collectives between hosts of the lab; built from this one source against any MPI (calls of
// MPI-1 only). Prints a line for each sample, from rank 0: "MODE BYTES SECONDS", completion at the last rank.
//   lab_coll barrier|bcast|reduce|allreduce|allgather|gather|scatter|alltoall|to_five BYTES SAMPLES TIMES
// to_five is MPI_Scatterv from rank 0 to ranks 1 to 5; with BENCH_OPENED=1, where the library has that, the
// group is opened before and its data moved. BYTES is what one rank has for another; of bcast and the
// reductions, all of the data. A sample is the mean of TIMES calls; all ranks begin at a time that was agreed
// on: all hosts of a lab have one clock.
#define _GNU_SOURCE
#include <mpi.h>
#if defined(__has_include)
#if __has_include(<mpix.h>)
#include <mpix.h>
#endif
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { kPage = 4096 };
static const double kLeadIn = 3e-3;  // seconds from the agreement to the start

static int rank, size;
static char *in, *out;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void barrier(int bytes) {
  (void)bytes;
  MPI_Barrier(MPI_COMM_WORLD);
}
// Many of them one after another: the root goes round, so that none can begin long before the last has ended.
static void bcast(int bytes) {
  static int root = 0;
  MPI_Bcast(in, bytes, MPI_CHAR, root, MPI_COMM_WORLD);
  if (bytes < kPage) root = (root + 1) % size;
}
static void reduce(int bytes) { MPI_Reduce(in, out, bytes / 8, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD); }
static void allreduce(int bytes) { MPI_Allreduce(in, out, bytes / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); }
static void allgather(int bytes) { MPI_Allgather(in, bytes, MPI_CHAR, out, bytes, MPI_CHAR, MPI_COMM_WORLD); }
static void gather(int bytes) { MPI_Gather(in, bytes, MPI_CHAR, out, bytes, MPI_CHAR, 0, MPI_COMM_WORLD); }
static void scatter(int bytes) { MPI_Scatter(out, bytes, MPI_CHAR, in, bytes, MPI_CHAR, 0, MPI_COMM_WORLD); }
static void alltoall(int bytes) { MPI_Alltoall(in, bytes, MPI_CHAR, out, bytes, MPI_CHAR, MPI_COMM_WORLD); }

static void to_five(int bytes) {
  static int counts[64], places[64];
  for (int i = 0; i < size && i < 64; ++i) {
    counts[i] = i >= 1 && i <= 5 ? bytes : 0;
    places[i] = i * bytes;
  }
#if defined(HERALD_MPIX_H)
  static MPI_Request group;
  static int opened;
  if (getenv("BENCH_OPENED") != NULL) {
    if (!opened++)
      MPIX_Scatterv_open_group(out, counts, places, MPI_CHAR, in, counts[rank], MPI_CHAR, 0, MPI_COMM_WORLD,
                               &group);
    MPIX_Scatterv_data_movement(&group);
    return;
  }
#endif
  MPI_Scatterv(out, counts, places, MPI_CHAR, in, counts[rank], MPI_CHAR, 0, MPI_COMM_WORLD);
}

static const struct {
  const char* name;
  void (*call)(int bytes);
} kModes[] = {{"barrier", barrier},     {"bcast", bcast},         {"reduce", reduce},
              {"allreduce", allreduce}, {"allgather", allgather}, {"gather", gather},
              {"scatter", scatter},     {"alltoall", alltoall},   {"to_five", to_five}};

static void sleep_until(double when) {
  const struct timespec t = {(time_t)when, (long)((when - (double)(time_t)when) * 1e9)};
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
}

// Every page is changed before it is sent.
static double sample(void (*call)(int), int bytes, int times, int turn) {
  double start = now() + kLeadIn, took, last = 0;
  for (long i = 0; i < (long)bytes * size; i += kPage) in[i] = (char)turn;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Bcast(&start, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  sleep_until(start);
  for (int i = 0; i < times; ++i) call(bytes);
  took = (now() - start) / times;
  MPI_Reduce(&took, &last, 1, MPI_DOUBLE, MPI_MAX, 0, MPI_COMM_WORLD);
  return last;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int bytes = argc == 5 ? atoi(argv[2]) : 0, samples = argc == 5 ? atoi(argv[3]) : 0;
  void (*call)(int) = NULL;
  for (size_t i = 0; argc == 5 && i < sizeof kModes / sizeof *kModes; ++i)
    if (strcmp(argv[1], kModes[i].name) == 0) call = kModes[i].call;
  in = calloc((size_t)size, (size_t)bytes + kPage);
  out = calloc((size_t)size, (size_t)bytes + kPage);
  if (call == NULL || in == NULL || out == NULL) {
    if (rank == 0) fprintf(stderr, "lab_coll: MODE BYTES SAMPLES TIMES; see the head of lab_coll.c\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  for (int i = -2; i < samples; ++i) {
    const double took = sample(call, bytes, atoi(argv[4]), i);
    if (rank == 0 && i >= 0) printf("%s %d %.9f\n", argv[1], bytes, took);
  }
  free(in);
  free(out);
  MPI_Finalize();
  return 0;
}
