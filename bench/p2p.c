// SPDX-License-Identifier: BSD-3-Clause
// p2p.c: latency and bandwidth between ranks 0 and 1 over message size; built from this one source against
// any MPI. Prints a line for each measurement: "latency BYTES SECONDS" (one way) or "bandwidth BYTES
// BYTES_PER_SECOND". Each rank pins itself to a core of its own where it may (BENCH_PIN=0: not), so that all
// libraries run alike.
//   p2p [largest size] [seconds for each size]
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

enum { kWindow = 32, kPage = 4096, kSamples = 21 };

static int rank;

static void pin(void) {
  const char* wish = getenv("BENCH_PIN");
  cpu_set_t all, one;
  if ((wish != NULL && *wish == '0') || sched_getaffinity(0, sizeof all, &all) != 0) return;
  const int cores = CPU_COUNT(&all);
  int skip = rank % cores, cpu = 0;
  for (; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &all) && skip-- == 0) break;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  sched_setaffinity(0, sizeof one, &one);
}

// Touch every page, so that no library sends what it has cached as unchanged.
static void dirty(char* buffer, int bytes, int turn) {
  for (int i = 0; i < bytes; i += kPage) buffer[i] = (char)turn;
}

static double round_trips(char* out, char* in, int bytes, int times) {
  const double start = MPI_Wtime();
  for (int i = 0; i < times; ++i) {
    dirty(out, bytes, i);
    if (rank == 0) MPI_Send(out, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    MPI_Recv(in, bytes, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(out, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
  }
  return (MPI_Wtime() - start) / times / 2;
}

// A window of messages from 0 to 1, then one short answer.
static double stream(char* buffer, int bytes, int times) {
  MPI_Request requests[kWindow];
  const double start = MPI_Wtime();
  for (int i = 0; i < times; ++i) {
    if (rank == 0) dirty(buffer, bytes, i);
    for (int w = 0; w < kWindow; ++w) {
      if (rank == 0)
        MPI_Isend(buffer, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD, &requests[w]);
      else
        MPI_Irecv(buffer, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, &requests[w]);
    }
    MPI_Waitall(kWindow, requests, MPI_STATUSES_IGNORE);
    char answer = 0;
    if (rank == 0)
      MPI_Recv(&answer, 1, MPI_CHAR, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
      MPI_Send(&answer, 1, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
  }
  return (double)bytes * kWindow * times / (MPI_Wtime() - start);
}

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

// How often, so that one sample of `samples` takes its share of `seconds`: rank 0 decides for both.
static int times_for(double once, double seconds, int samples) {
  double times = seconds / samples / (once > 0 ? once : 1e-7);
  int whole = times < 1 ? 1 : times > 100000 ? 100000 : (int)times;
  MPI_Bcast(&whole, 1, MPI_INT, 0, MPI_COMM_WORLD);
  return whole;
}

static void measure(char* out, char* in, int bytes, double seconds) {
  double samples[kSamples];
  int times = times_for(round_trips(out, in, bytes, 20) * 2, seconds / 2, kSamples);
  for (int i = 0; i < kSamples; ++i) samples[i] = round_trips(out, in, bytes, times);
  qsort(samples, kSamples, sizeof *samples, ascending);
  if (rank == 0) printf("latency %d %.9f\n", bytes, samples[kSamples / 2]);

  times = times_for(bytes * (double)kWindow / stream(out, bytes, 3), seconds / 2, kSamples);
  for (int i = 0; i < kSamples; ++i) samples[i] = stream(out, bytes, times);
  qsort(samples, kSamples, sizeof *samples, ascending);
  if (rank == 0) printf("bandwidth %d %.0f\n", bytes, samples[kSamples / 2]);
}

static char* room(int bytes) {
  char* memory = NULL;
  if (posix_memalign((void**)&memory, kPage, bytes) != 0) MPI_Abort(MPI_COMM_WORLD, 1);
  return memory;
}

int main(int argc, char** argv) {
  int size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int largest = argc > 1 ? atoi(argv[1]) : 4 << 20;
  const double seconds = argc > 2 ? atof(argv[2]) : 0.2;
  if (size != 2 || largest < 8 || seconds <= 0) {
    if (rank == 0)
      fprintf(stderr, "usage, on 2 ranks: p2p [largest size, 8 or more] [seconds for each size]\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  pin();
  char *out = room(largest), *in = room(largest);
  for (int i = 0; i < largest; ++i) out[i] = in[i] = (char)i;
  for (int bytes = 8; bytes <= largest && bytes > 0; bytes *= 8) measure(out, in, bytes, seconds);
  free(out);
  free(in);
  MPI_Finalize();
  return 0;
}
