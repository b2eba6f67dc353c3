/* SPDX-License-Identifier: BSD-3-Clause */
/* What could go wrong: lost wake-ups between threads that wait at the same time, requests completed by
   another thread, races in matching and in the handle tables. */
#include <pthread.h>

#include "check.h"

enum { kThreads = 4, kRounds = 300 };
static int rank_, peer_, failed_[kThreads];

static void* worker(void* argument) {
  int me = (int)(intptr_t)argument, bad = 0;
  static char big[kThreads][2][30000];
  for (int round = 0; round < kRounds; round++) {
    int n = round % 7 == 0 ? 30000 : round % 50, tag = me * 10, got = -1;
    MPI_Request requests[2];
    MPI_Status status;
    memset(big[me][0], rank_ + round + me, (size_t)n);
    MPI_Irecv(big[me][1], 30000, MPI_CHAR, peer_, tag, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(big[me][0], n, MPI_CHAR, peer_, tag, MPI_COMM_WORLD, &requests[1]);
    MPI_Wait(&requests[1], MPI_STATUS_IGNORE);
    MPI_Wait(&requests[0], &status);
    MPI_Get_count(&status, MPI_CHAR, &got);
    if (got != n ||
        (n > 0 && (big[me][1][0] != (char)(peer_ + round + me) || big[me][1][n - 1] != big[me][1][0])))
      bad++;
    MPI_Sendrecv(&round, 1, MPI_INT, peer_, tag + 1, &got, 1, MPI_INT, peer_, tag + 1, MPI_COMM_WORLD,
                 &status);
    if (got != round) bad++;
  }
  failed_[me] = bad;
  return NULL;
}

int main(int argc, char** argv) {
  int size, provided = -1;
  pthread_t threads[kThreads];
  OK(MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided));
  CHECK(provided == MPI_THREAD_MULTIPLE);
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank_));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  peer_ = (rank_ ^ 1) < size ? (rank_ ^ 1) : rank_;
  for (int i = 0; i < kThreads; i++) pthread_create(&threads[i], NULL, worker, (void*)(intptr_t)i);
  for (int i = 0; i < kThreads; i++) pthread_join(threads[i], NULL);
  for (int i = 0; i < kThreads; i++) CHECK(failed_[i] == 0);
  return check_finalize();
}
