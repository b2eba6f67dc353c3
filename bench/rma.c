// SPDX-License-Identifier: BSD-3-Clause
// rma.c: one-sided communication, neighborhood collectives and partitioned messages; built from this one
// source against any MPI. Prints a line for each measurement: "NAME BYTES SECONDS", a call at the slowest
// rank, median of samples. With no more ranks than cores each rank pins itself to a core of its own.
//   rma [seconds for each measurement [beginning of what, "" for all; "part": also with threads]]
#define _GNU_SOURCE
#include <mpi.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kSamples = 11, kLong = 1 << 20, kParts = 16, kPart = 65536, kThreads = 4 };

static int rank, size;
static char *in, *out;
static const char* only = "";
static MPI_Win win;  // of the present measurement
static MPI_Comm grid;

static void pin(void) {
  cpu_set_t all, one;
  if (sched_getaffinity(0, sizeof all, &all) != 0 || size > CPU_COUNT(&all)) return;
  int skip = rank, cpu = 0;
  for (; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &all) && skip-- == 0) break;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  sched_setaffinity(0, sizeof one, &one);
}

// Rank 0 accesses rank 1, which waits in a barrier.
static void put(int bytes) {
  if (rank != 0) return;
  MPI_Put(in, bytes, MPI_CHAR, 1, 0, bytes, MPI_CHAR, win);
  MPI_Win_flush(1, win);
}
static void get(int bytes) {
  if (rank != 0) return;
  MPI_Get(in, bytes, MPI_CHAR, 1, 0, bytes, MPI_CHAR, win);
  MPI_Win_flush(1, win);
}
static void fetch(int target) {
  const long one = 1;
  long before = 0;
  MPI_Fetch_and_op(&one, &before, MPI_LONG, target, 0, MPI_SUM, win);
  MPI_Win_flush(target, win);
}
static void fetch_and_op(int bytes) {
  (void)bytes;
  if (rank == 0) fetch(1);
}
// All ranks on one counter.
static void counter(int bytes) {
  (void)bytes;
  fetch(0);
}
static void fence(int bytes) {
  MPI_Put(in, bytes, MPI_CHAR, (rank + 1) % size, 0, bytes, MPI_CHAR, win);
  MPI_Win_fence(0, win);
}
static void neighbor_alltoall(int bytes) {
  MPI_Neighbor_alltoall(in, bytes, MPI_CHAR, out, bytes, MPI_CHAR, grid);
}

// One message of rank 0 to rank 1, and a short answer.
static void answer(void) {
  char short_message = 0;
  if (rank == 1) MPI_Send(&short_message, 1, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
  if (rank == 0) MPI_Recv(&short_message, 1, MPI_CHAR, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}
static void send_whole(int bytes) {
  if (rank == 0) MPI_Send(in, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
  if (rank == 1) MPI_Recv(out, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  answer();
}

#if MPI_VERSION >= 4
static MPI_Request part;
static pthread_barrier_t gate;
static int threads_end;

static void mark(int thread) {
  for (int i = thread; i < kParts; i += kThreads) MPI_Pready(i, part);
}
static void* work(void* number) {
  for (;;) {
    pthread_barrier_wait(&gate);
    if (threads_end) return NULL;
    mark((int)(long)number);
    pthread_barrier_wait(&gate);
  }
}
static void part_round(int threaded) {
  if (rank > 1) return;
  MPI_Start(&part);
  if (rank == 0 && threaded) {
    pthread_barrier_wait(&gate);
    mark(0);
    pthread_barrier_wait(&gate);
  } else if (rank == 0) {
    for (int i = 0; i < kThreads; ++i) mark(i);
  }
  MPI_Wait(&part, MPI_STATUS_IGNORE);
  answer();
}
static void partitioned(int bytes) {
  (void)bytes;
  part_round(0);
}
static void partitioned_threads(int bytes) {
  (void)bytes;
  part_round(1);
}
#endif
static int less(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

static double sample(void (*call)(int), int bytes, int times) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  for (int i = 0; i < times; ++i) call(bytes);
  double mine = MPI_Wtime() - start, slowest = 0;
  MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  return slowest;
}

static void measure(const char* name, void (*call)(int), int bytes, double seconds) {
  double samples[kSamples];
  int times = 1;
  if (*only != '\0' && strncmp(only, name, strlen(only)) != 0) return;
  double once = sample(call, bytes, 1);
  while (once < seconds / kSamples / 4 && times < 1 << 20) {
    times *= 2;
    once = sample(call, bytes, times);
  }
  times = (int)(times * (seconds / kSamples) / (once > 0 ? once : 1)) + 1;
  MPI_Bcast(&times, 1, MPI_INT, 0, MPI_COMM_WORLD);
  for (int i = 0; i < kSamples; ++i) samples[i] = sample(call, bytes, times) / times;
  qsort(samples, kSamples, sizeof *samples, less);
  if (rank == 0) printf("%s %d %.9f\n", name, bytes, samples[kSamples / 2]);
}

// Two messages of 8 bytes, to compare with.
static void round_trip(int bytes) {
  if (rank == 0) MPI_Send(in, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
  MPI_Recv(out, bytes, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == 1) MPI_Send(in, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
}

// The target computes for a second, and the longest of some puts in that time is reported.
static void put_to_busy(void) {
  double longest = 0;
  if (*only != '\0' && strncmp(only, "put_to_busy", strlen(only)) != 0) return;
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  while (rank == 1 && MPI_Wtime() - start < 1) {
  }
  while (rank == 0 && MPI_Wtime() - start < 0.9) {
    const double begin = MPI_Wtime();
    put(8);
    const double took = MPI_Wtime() - begin;
    if (took > longest) longest = took;
    while (MPI_Wtime() - begin < 0.05) {
    }
  }
  if (rank == 0) printf("put_to_busy 8 %.9f\n", longest);
}

static void one_sided(double seconds) {
  char* memory = NULL;
  MPI_Win_allocate(kLong, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &memory, &win);
  memset(memory, 0, kLong);
  MPI_Barrier(MPI_COMM_WORLD);
  MPI_Win_lock_all(0, win);
  if (size == 2) {
    measure("put", put, 8, seconds);
    measure("get", get, 8, seconds);
    measure("fetch_and_op", fetch_and_op, 8, seconds);
    measure("put", put, kLong, seconds);
    measure("get", get, kLong, seconds);
    measure("round_trip", round_trip, 8, seconds);
    put_to_busy();
  }
  measure("counter", counter, 8, seconds);
  MPI_Win_unlock_all(win);
  MPI_Win_fence(0, win);
  measure("fence_put", fence, 8, seconds);
  MPI_Win_fence(MPI_MODE_NOSUCCEED, win);
  MPI_Win_free(&win);
  if (size != 2) return;
  MPI_Win_create(out, kLong, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_lock_all(0, win);
  measure("put_created", put, kLong, seconds);
  measure("get_created", get, kLong, seconds);
  MPI_Win_unlock_all(win);
  MPI_Win_free(&win);
}

static void neighbors(double seconds) {
  int dims[2] = {0, 0}, periods[2] = {1, 1};
  MPI_Dims_create(size, 2, dims);
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, 0, &grid);
  measure("neighbor_alltoall", neighbor_alltoall, 8, seconds);
  measure("neighbor_alltoall", neighbor_alltoall, 65536, seconds);
  MPI_Comm_free(&grid);
}

static void partitions(double seconds) {
  measure("send", send_whole, kParts * kPart, seconds);
#if MPI_VERSION >= 4
  pthread_t threads[kThreads];
  if (rank == 0) MPI_Psend_init(in, kParts, kPart, MPI_CHAR, 1, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &part);
  if (rank == 1) MPI_Precv_init(out, kParts, kPart, MPI_CHAR, 0, 5, MPI_COMM_WORLD, MPI_INFO_NULL, &part);
  measure("partitioned", partitioned, kParts * kPart, seconds);
  if (strncmp(only, "part", 4) != 0) goto end;
  pthread_barrier_init(&gate, NULL, kThreads);
  for (long i = 1; i < kThreads && rank == 0; ++i) pthread_create(&threads[i], NULL, work, (void*)i);
  measure("partitioned_threads", partitioned_threads, kParts * kPart, seconds);
  threads_end = 1;
  if (rank == 0) pthread_barrier_wait(&gate);
  for (int i = 1; i < kThreads && rank == 0; ++i) pthread_join(threads[i], NULL);
end:
  if (rank < 2) MPI_Request_free(&part);
#endif
}

int main(int argc, char** argv) {
  // Threads mark partitions; the other measurements are of one thread.
  const int threads = argc > 2 && strncmp(argv[2], "part", 4) == 0;
  int level = 0;
  MPI_Init_thread(&argc, &argv, threads ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &level);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  pin();
  const double seconds = argc > 1 ? atof(argv[1]) : 0.2;
  if (argc > 2) only = argv[2];
  in = malloc(kLong);
  out = malloc(kLong);
  memset(in, 1, kLong);  // not 0: memory that was only ever zero has one page for all of it
  memset(out, 1, kLong);
  one_sided(seconds);
  if (size >= 4) neighbors(seconds);
  if (size == 2) partitions(seconds);
  free(in);
  free(out);
  MPI_Finalize();
  return 0;
}
