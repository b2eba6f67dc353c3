/* SPDX-License-Identifier: BSD-3-Clause */
/* What could go wrong with waiting: a rank that waits on an oversubscribed host takes processor time from
   ranks that compute; a sleeping rank is woken only by some of its peers (local or remote ones), and finds
   the messages of the others only by its periodic poll. */
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

enum { kRounds = 15, kMostRanks = 64 };
static const double kWait = 1.0;         /* seconds */
static const double kShareOfCore = 0.02; /* of which it may compute */
static const double kLate = 0.03;        /* the periodic poll runs ten times a second */

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static double computed(void) {
  struct rusage use;
  getrusage(RUSAGE_SELF, &use);
  return (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
         (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) * 1e-6;
}

/* The others compute, outside the library; one of them ends it. */
static void beside_busy_neighbours(int rank, int size) {
  MPI_Barrier(MPI_COMM_WORLD);
  const double begin = now(), before = computed();
  if (rank != 0) {
    volatile double busy = 0;
    while (now() - begin < kWait) busy += 1;
    if (rank == size - 1) MPI_Send(NULL, 0, MPI_BYTE, 0, 1, MPI_COMM_WORLD);
    return;
  }
  MPI_Recv(NULL, 0, MPI_BYTE, size - 1, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  const double waited = now() - begin, used = computed() - before;
  printf("waited %.2f s, computed %.4f s\n", waited, used);
  CHECK(waited > kWait / 2);
  CHECK(used < kShareOfCore * waited);
}

static int by_size(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

/* Each peer in turn wakes rank 0, which waits for any of them and has slept for a while. */
static void woken_by_each(int rank, int size) {
  static double late[kMostRanks][kRounds];
  for (int round = 0; round < kRounds; round++) {
    for (int peer = 1; peer < size; peer++) {
      double sent = 0;
      if (rank == peer) {
        MPI_Recv(NULL, 0, MPI_BYTE, 0, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        usleep(5000);
        sent = now();
        MPI_Send(&sent, 1, MPI_DOUBLE, 0, 3, MPI_COMM_WORLD);
      } else if (rank == 0) {
        MPI_Send(NULL, 0, MPI_BYTE, peer, 2, MPI_COMM_WORLD);
        MPI_Recv(&sent, 1, MPI_DOUBLE, MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        late[peer][round] = now() - sent;
      }
    }
  }
  if (rank != 0) return;
  for (int peer = 1; peer < size; peer++) {
    qsort(late[peer], kRounds, sizeof late[peer][0], by_size);
    const double quick = late[peer][kRounds / 4]; /* the other delays may come from the machine */
    printf("woken by rank %d after %.0f us\n", peer, quick * 1e6);
    CHECK(quick < kLate);
  }
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size < 2 || size > kMostRanks) {
    if (rank == 0) fprintf(stderr, "waiting: start it with 2 to %d ranks\n", kMostRanks);
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  beside_busy_neighbours(rank, size);
  woken_by_each(rank, size);
  return check_finalize();
}
