// SPDX-License-Identifier: BSD-3-Clause
// coll.c: how long collectives take over the size of the data; built from this one source against any MPI.
// Prints a line for each measurement: "NAME BYTES SECONDS", completion at the last rank, median of samples.
// With no more ranks than cores each rank pins itself to a core of its own (BENCH_PIN=0: not), so that all
// libraries run alike.
//   coll [seconds for each measurement [what, "" for all [bytes]]]
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kSamples = 15, kLargest = 1 << 20 };

static int rank, size;
static char *in, *out;
static const char* only = "";
static int only_bytes = -1;
static MPI_Request persistent;

static void pin(void) {
  const char* wish = getenv("BENCH_PIN");
  cpu_set_t all, one;
  if ((wish != NULL && *wish == '0') || sched_getaffinity(0, sizeof all, &all) != 0) return;
  if (size > CPU_COUNT(&all)) return;
  int skip = rank, cpu = 0;
  for (; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &all) && skip-- == 0) break;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  sched_setaffinity(0, sizeof one, &one);
}

// The root rotates, so that a call cannot begin long before the last one has ended everywhere.
static int next_root(void) {
  static int root = 0;
  return root = (root + 1) % size;
}

static void barrier(int bytes) {
  (void)bytes;
  MPI_Barrier(MPI_COMM_WORLD);
}
static void bcast(int bytes) { MPI_Bcast(in, bytes, MPI_CHAR, next_root(), MPI_COMM_WORLD); }
static void reduce(int bytes) {
  MPI_Reduce(in, out, bytes / 8, MPI_DOUBLE, MPI_SUM, next_root(), MPI_COMM_WORLD);
}
static void allreduce(int bytes) { MPI_Allreduce(in, out, bytes / 8, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD); }
static void allgather(int bytes) { MPI_Allgather(in, bytes, MPI_CHAR, out, bytes, MPI_CHAR, MPI_COMM_WORLD); }
static void alltoall(int bytes) { MPI_Alltoall(in, bytes, MPI_CHAR, out, bytes, MPI_CHAR, MPI_COMM_WORLD); }
static void gather(int bytes) {
  MPI_Gather(in, bytes, MPI_CHAR, out, bytes, MPI_CHAR, next_root(), MPI_COMM_WORLD);
}
static void start_wait(int bytes) {
  (void)bytes;
  MPI_Start(&persistent);
  MPI_Wait(&persistent, MPI_STATUS_IGNORE);
}

static int less(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

// Time of `times` calls at the slowest rank.
static double sample(void (*call)(int), int bytes, int times) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  for (int i = 0; i < times; ++i) call(bytes);
  double mine = MPI_Wtime() - start, slowest = 0;
  MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

// Kinds of a call alternate, so that they are measured under the same load.
enum { kMostKinds = 2 };
typedef struct {
  const char* name;
  void (*call)(int);
} kind;

static void measure_kinds(const kind* kinds, int many, int bytes, double seconds) {
  double samples[kMostKinds][kSamples];
  int times = 1;
  if ((*only != '\0' && strcmp(only, kinds[0].name) != 0) || (only_bytes >= 0 && only_bytes != bytes)) return;
  double once = sample(kinds[0].call, bytes, 1);
  while (once < seconds / kSamples / 4 && times < 1 << 20) {
    times *= 2;
    once = sample(kinds[0].call, bytes, times);
  }
  times = (int)(times * (seconds / kSamples) / (once > 0 ? once : 1)) + 1;
  MPI_Bcast(&times, 1, MPI_INT, 0, MPI_COMM_WORLD);
  for (int i = 0; i < kSamples * many; ++i)
    samples[i % many][i / many] = sample(kinds[i % many].call, bytes, times) / times;
  for (int i = 0; i < many; ++i) {
    qsort(samples[i], kSamples, sizeof **samples, less);
    if (rank == 0) printf("%s %d %.9f\n", kinds[i].name, bytes, samples[i][kSamples / 2]);
  }
}

static void measure(const char* name, void (*call)(int), int bytes, double seconds) {
  const kind one = {name, call};
  measure_kinds(&one, 1, bytes, seconds);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  pin();
  const double seconds = argc > 1 ? atof(argv[1]) : 0.2;
  if (argc > 2) only = argv[2];
  if (argc > 3) only_bytes = atoi(argv[3]);
  in = malloc(kLargest);
  out = malloc((size_t)kLargest * (size_t)size);
  memset(in, 1, kLargest);  // not 0: memory that was only ever zero has one page for all of it
  memset(out, 1, (size_t)kLargest * (size_t)size);
  static const int sizes[] = {8, 1024, 65536, 1 << 20};
  measure("barrier", barrier, 0, seconds);
  for (int i = 0; i < 4; ++i) {
    measure("bcast", bcast, sizes[i], seconds);
    measure("reduce", reduce, sizes[i], seconds);
    measure("allreduce", allreduce, sizes[i], seconds);
    measure("gather", gather, sizes[i], seconds);
    measure("allgather", allgather, sizes[i], seconds);
    if ((long)sizes[i] * size <= kLargest) measure("alltoall", alltoall, sizes[i], seconds);
  }
#if MPI_VERSION >= 4
  MPI_Allreduce_init(in, out, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD, MPI_INFO_NULL, &persistent);
  static const kind both[] = {{"persistent", start_wait}, {"blocking", allreduce}};
  measure_kinds(both, 2, 8, seconds);
  MPI_Request_free(&persistent);
#else
  (void)start_wait;
#endif
  free(in);
  free(out);
  MPI_Finalize();
  return 0;
}
