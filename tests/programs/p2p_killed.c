/* SPDX-License-Identifier: BSD-3-Clause */
/* p2p_killed CASE: rank 1 is killed while messages are in flight; p2p_killed.py checks the end of the
   job.
     push           short messages stream to it
     receiver       it receives long messages, one after the other
     sender         it sends them
     mapped         as receiver, in memory from MPI_Alloc_mem
     between        nothing is in flight: the others wait for it */
#include <pthread.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

enum { kShort = 2000, kLong = 32 << 20, kBefore = 3 };

static void die(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  printf("died %.6f\n", (double)time.tv_sec + (double)time.tv_nsec * 1e-9);
  fflush(stdout);
  kill(getpid(), SIGKILL);
}

static void* die_soon(void* nothing) {
  (void)nothing;
  usleep(30000); /* in the middle of something, most likely */
  die();
  return NULL;
}

static void stream(int rank, int from, int to, char* data, int bytes) {
  for (long i = 0;; i++) {
    pthread_t thread;
    if (rank == 1 && i == kBefore) pthread_create(&thread, NULL, die_soon, NULL);
    if (rank == from) MPI_Send(data, bytes, MPI_CHAR, to, 0, MPI_COMM_WORLD);
    if (rank == to) MPI_Recv(data, bytes, MPI_CHAR, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank != from && rank != to) MPI_Recv(data, 1, MPI_CHAR, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
}

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const char* what = argc > 1 ? argv[1] : "";
  const int bytes = strcmp(what, "push") == 0 ? kShort : kLong;
  char* data = NULL;
  if (strcmp(what, "mapped") == 0)
    MPI_Alloc_mem(bytes, MPI_INFO_NULL, &data);
  else
    data = malloc((size_t)bytes);
  memset(data, 1, (size_t)bytes);
  if (rank == 0) {
    const char* job = getenv("HERALD_JOB_ID");
    printf("job %s\n", job != NULL ? job : "");
    fflush(stdout);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (strcmp(what, "between") == 0) {
    if (rank == 1) die();
    MPI_Recv(data, 1, MPI_CHAR, 1, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (strcmp(what, "sender") == 0) {
    stream(rank, 1, 0, data, bytes);
  } else {
    stream(rank, 0, 1, data, bytes);
  }
  printf("nobody died\n");
  MPI_Finalize();
  return 0;
}
