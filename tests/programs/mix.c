/* SPDX-License-Identifier: BSD-3-Clause */
/* mix SECONDS SEED [LARGEST]: random collectives and messages of up to LARGEST ints on random roots, for
   networks with faults. What could go wrong: an element is wrong, of another call, or of another rank. The
   seed, the same on all ranks, chooses the calls. Rank 0 prints "started", then "slow END SECONDS" (seconds
   of the clock of the day) for each call of more than 0.2 s, and the number of calls at the end. */
#include <time.h>

#include "check.h"

enum { kTag = 3, kCallsPerRound = 8, kKinds = 9 };

static int rank, size, largest;
static unsigned long state;

static unsigned long draw(void) {
  unsigned long x = state += 0x9E3779B97F4A7C15ul;
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ul;
  x = (x ^ x >> 27) * 0x94D049BB133111EBul;
  return x ^ x >> 31;
}

static int value(int call, int from, int i) { return (call * 31 + from * 1009 + i) % 100003; }

static void fill(int* at, int count, int call, int from) {
  for (int i = 0; i < count; ++i) at[i] = value(call, from, i);
}

static int is_right(const int* at, int count, int call, int from) {
  for (int i = 0; i < count; ++i)
    if (at[i] != value(call, from, i)) return 0;
  return 1;
}

/* Every rank's ints, added up. */
static int is_sum(const int* at, int count, int call, int ranks) {
  for (int i = 0; i < count; ++i) {
    int sum = 0;
    for (int r = 0; r < ranks; ++r) sum += value(call, r, i);
    if (at[i] != sum) return 0;
  }
  return 1;
}

static void pairs(int call, int count, int* out, int* in) {
  MPI_Request requests[2];
  const int step = 1 + call % (size > 1 ? size - 1 : 1);
  const int to = (rank + step) % size, from = (rank + size - step) % size;
  fill(out, count, call, rank);
  OK(MPI_Irecv(in, count, MPI_INT, from, kTag, MPI_COMM_WORLD, &requests[0]));
  OK(MPI_Isend(out, count, MPI_INT, to, kTag, MPI_COMM_WORLD, &requests[1]));
  OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  CHECK(is_right(in, count, call, from));
}

static void call_one(int kind, int call, int root, int count, int* out, int* in) {
  const int each = count / size;
  fill(out, count, call, rank);
  switch (kind) {
    case 0: OK(MPI_Barrier(MPI_COMM_WORLD)); break;
    case 1:
      OK(MPI_Bcast(out, count, MPI_INT, root, MPI_COMM_WORLD));
      CHECK(is_right(out, count, call, root));
      break;
    case 2:
      OK(MPI_Allreduce(out, in, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
      CHECK(is_sum(in, count, call, size));
      break;
    case 3:
      OK(MPI_Reduce(out, in, count, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD));
      CHECK(rank != root || is_sum(in, count, call, size));
      break;
    case 4:
      OK(MPI_Allgather(out, each, MPI_INT, in, each, MPI_INT, MPI_COMM_WORLD));
      for (int r = 0; r < size; ++r) CHECK(is_right(in + r * each, each, call, r));
      break;
    case 5:
      OK(MPI_Alltoall(out, each, MPI_INT, in, each, MPI_INT, MPI_COMM_WORLD));
      for (int r = 0; r < size; ++r)
        for (int i = 0; i < each; ++i) CHECK(in[r * each + i] == value(call, r, rank * each + i));
      break;
    case 6:
      OK(MPI_Gather(out, each, MPI_INT, in, each, MPI_INT, root, MPI_COMM_WORLD));
      for (int r = 0; rank == root && r < size; ++r) CHECK(is_right(in + r * each, each, call, r));
      break;
    case 7:
      OK(MPI_Scan(out, in, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
      CHECK(is_sum(in, count, call, rank + 1));
      break;
    default: pairs(call, count, out, in); break;
  }
}

static double clock_of_day(void) {
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const double seconds = argc > 1 ? atof(argv[1]) : 1;
  state = argc > 2 ? strtoul(argv[2], NULL, 10) : 1;
  largest = argc > 3 ? atoi(argv[3]) : 20000;
  int* out = malloc(sizeof(int) * (size_t)largest);
  int* in = malloc(sizeof(int) * (size_t)largest);
  const double start = MPI_Wtime();
  int calls = 0, go_on = 1;
  while (go_on) {
    for (int i = 0; i < kCallsPerRound; ++i, ++calls) {
      const unsigned long x = draw();
      const int most = x % 4 == 0 ? largest : largest < 256 ? largest : 256; /* most calls are short */
      const double begin = MPI_Wtime();
      call_one((int)(x >> 8) % kKinds, calls, (int)((x >> 16) % (unsigned long)size),
               (int)((x >> 32) % (unsigned long)(most + 1)), out, in);
      if (rank == 0 && calls != 0 && MPI_Wtime() - begin > 0.2)
        printf("slow %.3f %.3f\n", clock_of_day(), MPI_Wtime() - begin), fflush(stdout);
      if (rank == 0 && calls == 0) printf("started\n"), fflush(stdout);
    }
    go_on = MPI_Wtime() - start < seconds && check_failures_ == 0;
    OK(MPI_Bcast(&go_on, 1, MPI_INT, 0, MPI_COMM_WORLD));
  }
  if (rank == 0) printf("%d rounds\n", calls / kCallsPerRound), fflush(stdout);
  free(out);
  free(in);
  return check_finalize();
}
