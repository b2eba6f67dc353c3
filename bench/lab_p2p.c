// SPDX-License-Identifier: BSD-3-Clause
// lab_p2p.c: point-to-point between hosts of the lab; built from this one source against any MPI (calls of
// MPI-1 only). Prints a line for each sample, from rank 0: "MODE BYTES SECONDS".
//   lab_p2p rtt   BYTES SAMPLES TIMES        round trip between ranks 0 and 1, mean of TIMES
//   lab_p2p half  BYTES SAMPLES TIMES        half a round trip: one message at a time, one after the other
//   lab_p2p early LARGEST SAMPLES RATE       from the send to the end of a receive that was posted before
//   lab_p2p late  LARGEST SAMPLES RATE       from a receive whose message arrived long before, to its end
//   lab_p2p incast BYTES SAMPLES             ranks 1.. send to rank 0 at once: until it has everything
// early and late measure 1, 4, 16 ... LARGEST bytes; RATE, bits per second, sets the length of the wait.
// Times of several ranks are compared: all hosts of a lab have one clock.
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { kPage = 4096, kWarm = 20 };

static int rank, size;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

// Pins ranks if there are enough cores, so that all libraries run alike.
static void pin(void) {
  cpu_set_t all, one;
  if (sched_getaffinity(0, sizeof all, &all) != 0 || CPU_COUNT(&all) < size) return;
  int skip = rank, cpu = 0;
  for (; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &all) && skip-- == 0) break;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  sched_setaffinity(0, sizeof one, &one);
}

static void idle_until(double when) {
  while (now() < when) {
  }
}

static char* room(long bytes) {
  char* memory = NULL;
  if (posix_memalign((void**)&memory, kPage, (size_t)bytes + kPage) != 0) MPI_Abort(MPI_COMM_WORLD, 1);
  memset(memory, 1, (size_t)bytes + kPage);
  return memory;
}

// Writes to every page before it is sent.
static void dirty(char* buffer, int bytes, int turn) {
  for (int i = 0; i < bytes; i += kPage) buffer[i] = (char)turn;
}

static double round_trips(char* out, char* in, int bytes, int times) {
  const double start = now();
  for (int i = 0; i < times; ++i) {
    dirty(out, bytes, i);
    if (rank == 0) MPI_Send(out, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    MPI_Recv(in, bytes, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(out, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
  }
  return (now() - start) / times;
}

static void ping_pong(const char* mode, int bytes, int samples, int times) {
  char *out = room(bytes), *in = room(bytes);
  round_trips(out, in, bytes, bytes > 100000 ? 1 : kWarm);
  for (int i = 0; i < samples; ++i) {
    const double took = round_trips(out, in, bytes, times) / (strcmp(mode, "half") == 0 ? 2 : 1);
    if (rank == 0) printf("%s %d %.9f\n", mode, bytes, took);
  }
  free(out);
  free(in);
}

// One message from 0 to 1; one side starts `wait` seconds after the other.
static double skewed(char* buffer, int bytes, int late, double wait) {
  double entered[2] = {0, 0}, mine, end = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  idle_until(now() + ((rank == 1) == late ? wait : 0) + 5e-5);
  mine = now();
  if (rank == 0) {
    MPI_Send(buffer, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    MPI_Send(&mine, 1, MPI_DOUBLE, 1, 1, MPI_COMM_WORLD);
    MPI_Recv(&end, 1, MPI_DOUBLE, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return end;
  }
  MPI_Recv(buffer, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  end = now();
  entered[1] = mine;
  MPI_Recv(&entered[0], 1, MPI_DOUBLE, 0, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  end -= entered[0] > entered[1] ? entered[0] : entered[1];
  MPI_Send(&end, 1, MPI_DOUBLE, 0, 2, MPI_COMM_WORLD);
  return end;
}

static void skew(const char* mode, int largest, int samples, double rate) {
  char* buffer = room(largest);
  for (int bytes = 1; bytes <= largest; bytes *= 4) {
    const double wait = 3e-4 + 3.0 * bytes * 8 / rate;
    for (int i = -3; i < samples; ++i) {
      dirty(buffer, bytes, i);
      const double took = skewed(buffer, bytes, strcmp(mode, "late") == 0, wait);
      if (rank == 0 && i >= 0) printf("%s %d %.9f\n", mode, bytes, took);
    }
  }
  free(buffer);
}

static void incast(int bytes, int samples) {
  char* buffer = room((long)bytes * (rank == 0 ? size : 1));
  MPI_Request* requests = malloc(sizeof *requests * (size_t)size);
  for (int i = -1; i < samples; ++i) {
    if (rank != 0) dirty(buffer, bytes, i);
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = now();
    if (rank == 0) {
      for (int r = 1; r < size; ++r)
        MPI_Irecv(buffer + (long)bytes * r, bytes, MPI_CHAR, r, 0, MPI_COMM_WORLD, &requests[r - 1]);
      MPI_Waitall(size - 1, requests, MPI_STATUSES_IGNORE);
      if (i >= 0) printf("incast %d %.9f\n", bytes, now() - start);
    } else {
      MPI_Send(buffer, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
    }
  }
  free(requests);
  free(buffer);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const char* mode = argc > 3 ? argv[1] : "";
  const int bytes = argc > 3 ? atoi(argv[2]) : 0, samples = argc > 3 ? atoi(argv[3]) : 0;
  pin();
  if (argc > 4 && size == 2 && (strcmp(mode, "rtt") == 0 || strcmp(mode, "half") == 0)) {
    ping_pong(mode, bytes, samples, atoi(argv[4]));
  } else if (argc > 4 && size == 2 && (strcmp(mode, "early") == 0 || strcmp(mode, "late") == 0)) {
    skew(mode, bytes, samples, atof(argv[4]));
  } else if (strcmp(mode, "incast") == 0 && size > 1) {
    incast(bytes, samples);
  } else {
    if (rank == 0)
      fprintf(stderr, "lab_p2p: 2 ranks: rtt|half|early|late BYTES SAMPLES TIMES|RATE; more: incast\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  fflush(stdout);
  MPI_Barrier(MPI_COMM_WORLD);
  if (getenv("BENCH_NO_FINALIZE") != NULL) _exit(0);  // for a library that does not come back from it
  MPI_Finalize();
  return 0;
}
