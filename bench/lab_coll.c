// SPDX-License-Identifier: BSD-3-Clause
// lab_coll.c: collectives between hosts of the lab; built from this one source against any MPI (calls of
// MPI-1 only). Prints a line for each sample, from rank 0: "MODE BYTES SECONDS", completion at the last rank;
// and for each size "cpu BYTES SECONDS": processor time of one call, all ranks together.
//   lab_coll barrier|bcast|reduce|allreduce|allgather|gather|scatter|alltoall|to_five|to_five_mean BYTES
//            SAMPLES TIMES
// to_five is MPI_Scatterv from rank 0 to ranks 1 to 5; with BENCH_OPENED=1, and a library that has mpix.h,
// the group is opened before. to_five_mean is the same, and prints the mean over ranks instead of the
// maximum. BYTES is the block of one pair of ranks; of bcast and the reductions, all of the data. Several
// sizes, as 8,64,512, are measured one after another. A sample is the mean of TIMES calls, or with 0 of as
// many as fit into a short time. All ranks begin at an agreed time: all hosts of a lab have one clock.
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
#include <sys/prctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { kPage = 4096, kMostTimes = 100 };
static const double kLeadIn = 3e-3;  // seconds from the agreement to the start
static const double kEnough = 5e-2;  // seconds of a sample, where the number of calls is ours to choose

static int rank, size, in_a_row, mean_of_ranks;
static char *in, *out;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double used;  // processor time of this rank in calls that were measured

static double processor_time(void) {
  struct rusage all;
  getrusage(RUSAGE_SELF, &all);
  return (double)(all.ru_utime.tv_sec + all.ru_stime.tv_sec) +
         (double)(all.ru_utime.tv_usec + all.ru_stime.tv_usec) * 1e-6;
}

static void barrier(int bytes) {
  (void)bytes;
  MPI_Barrier(MPI_COMM_WORLD);
}
// A row of calls: the root rotates, so that no call begins long before the last one has ended.
static void bcast(int bytes) {
  static int root = 0;
  MPI_Bcast(in, bytes, MPI_CHAR, root, MPI_COMM_WORLD);
  if (in_a_row > 1) root = (root + 1) % size;
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
              {"scatter", scatter},     {"alltoall", alltoall},   {"to_five", to_five},
              {"to_five_mean", to_five}};

// Timer slack of 1 us: the default of 50 us would count as time of the call. Sleeps inside the library
// keep the default.
static void sleep_until(double when) {
  const struct timespec t = {(time_t)when, (long)((when - (double)(time_t)when) * 1e9)};
  prctl(PR_SET_TIMERSLACK, 1UL);
  clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL);
  prctl(PR_SET_TIMERSLACK, 0UL);
}

// Writes to every page before it is sent.
static double sample(void (*call)(int), int bytes, int times, int turn) {
  double start = now() + kLeadIn, took, last = 0;
  for (long i = 0; i < (long)bytes * size; i += kPage) in[i] = (char)turn;
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Bcast(&start, 1, MPI_DOUBLE, 0, MPI_COMM_WORLD);
  in_a_row = times;
  sleep_until(start);
  used -= processor_time();
  for (int i = 0; i < times; ++i) call(bytes);
  took = (now() - start) / times;
  used += processor_time();
  MPI_Reduce(&took, &last, 1, MPI_DOUBLE, mean_of_ranks ? MPI_SUM : MPI_MAX, 0, MPI_COMM_WORLD);
  return mean_of_ranks ? last / size : last;
}

// Calls per sample, by trials of growing length: wake-ups dominate a few short calls. The better of two
// trials counts. All ranks follow rank 0.
static int times_for(void (*call)(int), int bytes) {
  int times = 1, more = 1;
  sample(call, bytes, 1, -4);
  while (more) {
    const double one = sample(call, bytes, times, -3), other = sample(call, bytes, times, -2);
    const int next = times * 5 > kMostTimes ? kMostTimes : times * 5;
    more = next > times && (one < other ? one : other) * next < kEnough;
    MPI_Bcast(&more, 1, MPI_INT, 0, MPI_COMM_WORLD);
    if (more) times = next;
  }
  return times;
}

static void measure(const char* mode, void (*call)(int), int bytes, int samples, int times) {
  const int first = times == 0 ? 0 : -2;  // finding the number of calls has warmed all up
  double all = 0;
  if (times == 0) times = times_for(call, bytes);
  for (int i = first; i < samples; ++i) {
    if (i <= 0) used = 0;
    const double took = sample(call, bytes, times, i);
    if (rank == 0 && i >= 0) printf("%s %d %.9f\n", mode, bytes, took);
  }
  MPI_Reduce(&used, &all, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);
  if (rank == 0) printf("cpu %d %.9f\n", bytes, all / (samples * times));
  fflush(stdout);  // what there is, should the rest take too long
}

// The first size of a list; NULL after the last.
static const char* next_size(const char* list, int* bytes) {
  char* end = NULL;
  *bytes = (int)strtol(list, &end, 10);
  return *end == ',' ? end + 1 : NULL;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  int bytes = 0, largest = 0;
  for (const char* list = argc == 5 ? argv[2] : NULL; list != NULL;
       largest = bytes > largest ? bytes : largest)
    list = next_size(list, &bytes);
  void (*call)(int) = NULL;
  for (size_t i = 0; argc == 5 && i < sizeof kModes / sizeof *kModes; ++i)
    if (strcmp(argv[1], kModes[i].name) == 0) call = kModes[i].call;
  mean_of_ranks = argc == 5 && strcmp(argv[1], "to_five_mean") == 0;
  in = calloc((size_t)size, (size_t)largest + kPage);
  out = calloc((size_t)size, (size_t)largest + kPage);
  if (call == NULL || in == NULL || out == NULL) {
    if (rank == 0) fprintf(stderr, "lab_coll: MODE BYTES SAMPLES TIMES; see the head of lab_coll.c\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  for (const char* list = argv[2]; list != NULL;) {
    list = next_size(list, &bytes);
    measure(argv[1], call, bytes, atoi(argv[3]), atoi(argv[4]));
  }
  free(in);
  free(out);
  MPI_Barrier(MPI_COMM_WORLD);
  if (getenv("BENCH_NO_FINALIZE") != NULL) _exit(0);  // for a library that does not come back from it
  MPI_Finalize();
  return 0;
}
