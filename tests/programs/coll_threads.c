/* SPDX-License-Identifier: BSD-3-Clause */
/* What could go wrong: threads in collectives on different communicators block each other, sleep through the
   end of their own collective because another thread made it progress, or share the memory of a cached plan.
 */
#include <pthread.h>

#include "check.h"

#define THREADS 4

static MPI_Comm comms[THREADS];
static int failures[THREADS];

static void* work(void* argument) {
  const int me = (int)(size_t)argument;
  int turn, i, rank, size;
  MPI_Comm_rank(comms[me], &rank);
  MPI_Comm_size(comms[me], &size);
  for (turn = 0; turn < 60; turn++) {
    int in[3] = {rank + turn, me, 1}, out[3] = {0}, wanted = 0, data[4];
    MPI_Request request;
    MPI_Allreduce(in, out, 3, MPI_INT, MPI_SUM, comms[me]);
    for (i = 0; i < size; i++) wanted += i + turn;
    failures[me] += out[0] != wanted || out[1] != me * size || out[2] != size;
    for (i = 0; i < 4; i++) data[i] = rank == turn % size ? turn * 10 + me : -1;
    MPI_Ibcast(data, 4, MPI_INT, turn % size, comms[me], &request);
    MPI_Barrier(comms[me]);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    failures[me] += data[3] != turn * 10 + me;
  }
  return NULL;
}

int main(int argc, char** argv) {
  pthread_t threads[THREADS];
  int provided, i;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  CHECK(provided == MPI_THREAD_MULTIPLE);
  for (i = 0; i < THREADS; i++) OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]));
  for (i = 0; i < THREADS; i++) CHECK(pthread_create(&threads[i], NULL, work, (void*)(size_t)i) == 0);
  for (i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  for (i = 0; i < THREADS; i++) {
    CHECK(failures[i] == 0);
    OK(MPI_Comm_free(&comms[i]));
  }
  return check_finalize();
}
