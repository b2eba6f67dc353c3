// SPDX-License-Identifier: BSD-3-Clause
// p2p.c: messages between ranks 0 and 1; built from this one source against any MPI.
//   p2p WHAT SECONDS BYTES...      for each size one line: "WHAT BYTES VALUE", the median of its samples
//     latency        half a round trip of blocking calls, s
//     bandwidth      32 messages in flight one way, then a short answer, bytes/s
//     bidirectional  the same both ways at once, bytes/s of both together
//     rate           64 messages in flight one way, messages/s
//     early, late    paper 002, figure 7: both compute before they communicate, so that the receive begins
//                    long before the send, or long after it; time from the later of the two to the end of
//                    both, s
//     overlap        Irecv, compute for as long as the transfer takes alone, Wait: the share of the transfer
//                    that was hidden behind the computing, 0 to 1 (the sender waits in MPI_Send)
// Buffers are written before each send. Each rank pins itself to a core of its own where it may (BENCH_PIN=0:
// not), so that all libraries run alike. The first and the last tenth of the samples are dropped.
// BENCH_ALLOC=1 takes the buffers from MPI_Alloc_mem.
#define _GNU_SOURCE
#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kWindow = 32, kRate = 64, kPage = 4096, kSamples = 30 };

static int rank;
static volatile unsigned sink;

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

// Writes to every page, so that no library profits from an unchanged buffer.
static void dirty(char* buffer, int bytes, int turn) {
  for (int i = 0; i < bytes; i += kPage) buffer[i] = (char)turn;
}

static double latency(char* out, char* in, int bytes, int times) {
  const double start = MPI_Wtime();
  for (int i = 0; i < times; ++i) {
    dirty(out, bytes, i);
    if (rank == 0) MPI_Send(out, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    MPI_Recv(in, bytes, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(out, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
  }
  return (MPI_Wtime() - start) / times / 2;
}

static void answer(void) {
  char byte = 0;
  if (rank == 0)
    MPI_Recv(&byte, 1, MPI_CHAR, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  else
    MPI_Send(&byte, 1, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
}

// `window` messages at once, from 0 to 1 and if `both` back too. Seconds for one window.
static double stream(char* out, char* in, int bytes, int times, int window, int both) {
  MPI_Request requests[2 * kRate];
  const double start = MPI_Wtime();
  for (int i = 0; i < times; ++i) {
    int n = 0;
    if (rank == 0 || both) dirty(out, bytes, i);
    if (rank == 1 || both)
      for (int w = 0; w < window; ++w)
        MPI_Irecv(in, bytes, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, &requests[n++]);
    if (rank == 0 || both)
      for (int w = 0; w < window; ++w)
        MPI_Isend(out, bytes, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, &requests[n++]);
    MPI_Waitall(n, requests, MPI_STATUSES_IGNORE);
    answer();
  }
  return (MPI_Wtime() - start) / times;
}

static double bandwidth(char* out, char* in, int bytes, int times) {
  return (double)bytes * kWindow / stream(out, in, bytes, times, kWindow, 0);
}
static double bidirectional(char* out, char* in, int bytes, int times) {
  return 2.0 * bytes * kWindow / stream(out, in, bytes, times, kWindow, 1);
}
static double rate(char* out, char* in, int bytes, int times) {
  return kRate / stream(out, in, bytes, times, kRate, 0);
}

static void compute(double seconds) {
  const double end = MPI_Wtime() + seconds;
  while (MPI_Wtime() < end)
    for (int i = 0; i < 100; ++i) sink += (unsigned)i;
}

// Figure 7 for one message each way: barrier, computation, communication. The time of the longer computation
// is subtracted.
static double figure7(char* out, char* in, int bytes, int times, double ping, double pong) {
  double sum = 0;
  for (int i = 0; i < times; ++i) {
    dirty(out, bytes, i);
    char byte = 0;  // the barrier of the paper: a simple ping-pong
    if (rank == 0) {
      MPI_Send(&byte, 1, MPI_CHAR, 1, 2, MPI_COMM_WORLD);
      MPI_Recv(&byte, 1, MPI_CHAR, 1, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(&byte, 1, MPI_CHAR, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(&byte, 1, MPI_CHAR, 0, 2, MPI_COMM_WORLD);
    }
    const double start = MPI_Wtime();
    compute(rank == 0 ? ping : pong);
    if (rank == 0) {
      MPI_Send(out, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
      MPI_Recv(&byte, 1, MPI_CHAR, 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    } else {
      MPI_Recv(in, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      MPI_Send(&byte, 1, MPI_CHAR, 0, 1, MPI_COMM_WORLD);
    }
    sum += MPI_Wtime() - start - (ping > pong ? ping : pong);
  }
  return sum / times;
}
static double early(char* out, char* in, int bytes, int times) {
  return figure7(out, in, bytes, times, 200e-6, 40e-6);
}
static double late(char* out, char* in, int bytes, int times) {
  return figure7(out, in, bytes, times, 40e-6, 200e-6);
}

static double receive_while(char* out, char* in, int bytes, double seconds) {
  MPI_Request request;
  MPI_Barrier(MPI_COMM_WORLD);
  const double start = MPI_Wtime();
  if (rank == 1) {
    MPI_Irecv(in, bytes, MPI_CHAR, 0, 0, MPI_COMM_WORLD, &request);
    if (seconds > 0) compute(seconds);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else {
    MPI_Send(out, bytes, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
  }
  double took = MPI_Wtime() - start;
  MPI_Bcast(&took, 1, MPI_DOUBLE, 1, MPI_COMM_WORLD);
  return took;
}
static double overlap(char* out, char* in, int bytes, int times) {
  double alone = 0, both = 0;
  for (int i = 0; i < times; ++i) {
    dirty(out, bytes, i);
    alone += receive_while(out, in, bytes, 0);
  }
  for (int i = 0; i < times; ++i) {
    dirty(out, bytes, i);
    both += receive_while(out, in, bytes, alone / times);
  }
  const double hidden = (2 * alone - both) / alone;
  return hidden < 0 ? 0 : hidden > 1 ? 1 : hidden;
}

struct Kind {
  const char* name;
  double (*run)(char*, char*, int, int);
};
static const struct Kind kinds[] = {
    {"latency", latency}, {"bandwidth", bandwidth}, {"bidirectional", bidirectional},
    {"rate", rate},       {"early", early},         {"late", late},
    {"overlap", overlap},
};

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

// The median of the samples in the middle, in order of time.
static void measure(const struct Kind* kind, char* out, char* in, int bytes, double seconds) {
  double samples[kSamples];
  double once = 0;
  for (int warm = 0; warm < 3; ++warm) {
    const double start = MPI_Wtime();
    (void)kind->run(out, in, bytes, 2);
    once = (MPI_Wtime() - start) / 2;
  }
  const double wish = seconds / kSamples / (once > 0 ? once : 1e-7);
  int times = wish < 1 ? 1 : wish > 100000 ? 100000 : (int)wish;
  MPI_Bcast(&times, 1, MPI_INT, 0, MPI_COMM_WORLD);  // rank 0 decides for both
  for (int i = 0; i < kSamples; ++i) samples[i] = kind->run(out, in, bytes, times);
  const int drop = kSamples / 10, left = kSamples - 2 * drop;
  qsort(samples + drop, left, sizeof *samples, ascending);
  if (rank == 0) printf("%s %d %.10g\n", kind->name, bytes, samples[drop + left / 2]);
}

static char* room(int bytes) {
  const char* wish = getenv("BENCH_ALLOC");
  char* memory = NULL;
  if (wish != NULL && *wish == '1') {
    MPI_Alloc_mem(bytes, MPI_INFO_NULL, &memory);
    return memory;
  }
  if (posix_memalign((void**)&memory, kPage, bytes) != 0) MPI_Abort(MPI_COMM_WORLD, 1);
  return memory;
}

int main(int argc, char** argv) {
  int size;
  const struct Kind* kind = NULL;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (size_t i = 0; argc > 3 && i < sizeof kinds / sizeof *kinds; ++i)
    if (strcmp(argv[1], kinds[i].name) == 0) kind = &kinds[i];
  const double seconds = argc > 3 ? atof(argv[2]) : 0;
  if (size != 2 || kind == NULL || seconds <= 0) {
    if (rank == 0) fprintf(stderr, "usage, on 2 ranks: p2p WHAT SECONDS BYTES...; WHAT as the source says\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  pin();
  for (int i = 3; i < argc; ++i) {
    const int bytes = atoi(argv[i]);
    if (bytes < 1) continue;
    char *out = room(bytes), *in = room(bytes);
    memset(out, 1, bytes);
    memset(in, 2, bytes);
    measure(kind, out, in, bytes, seconds);
  }
  MPI_Finalize();
  return 0;
}
