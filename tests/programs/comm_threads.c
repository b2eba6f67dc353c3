/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads that make communicators at the same time, each from a parent of its own. What could go wrong:
   members that get the context number of another thread's communicator, so that messages mix; a lock held
   while waiting for peers, so that no thread progresses; objects that two threads change at once. */
#include <pthread.h>
#include "check.h"
#include "session_level.h"

enum { kThreads = 4, kRounds = 20 };

static MPI_Comm parents[kThreads];
static int wrong[kThreads];

/* One message to the next rank, with a value that only this thread's communicators carry. */
static void pass_on(MPI_Comm comm, int mark, int* bad) {
  int rank, size, out, in = -1;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  out = mark * 1000 + rank;
  MPI_Sendrecv(&out, 1, MPI_INT, (rank + 1) % size, 0, &in, 1, MPI_INT, (rank + size - 1) % size, 0, comm,
               MPI_STATUS_IGNORE);
  if (in != mark * 1000 + (rank + size - 1) % size) ++*bad;
}

static void* work(void* argument) {
  const int me = (int)(long)argument;
  int i, rank;
  MPI_Group group;
  MPI_Info info;
  MPI_Comm_rank(parents[me], &rank);
  for (i = 0; i < kRounds; i++) {
    MPI_Comm a, b, c;
    MPI_Comm_dup(parents[me], &a);
    pass_on(a, me * 100 + i, &wrong[me]);
    MPI_Comm_split(a, rank % 2, rank, &b);
    pass_on(b, me * 100 + i + 30, &wrong[me]);
    MPI_Comm_group(a, &group);
    MPI_Comm_create_group(a, group, me, &c);
    pass_on(c, me * 100 + i + 60, &wrong[me]);
    MPI_Info_create(&info);
    MPI_Info_set(info, "key", "value");
    MPI_Info_free(&info);
    MPI_Group_free(&group);
    MPI_Comm_free(&c);
    MPI_Comm_free(&b);
    MPI_Comm_free(&a);
  }
  return NULL;
}

int main(int argc, char** argv) {
  pthread_t threads[kThreads];
  int provided, i;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  check_session_level("MPI_THREAD_MULTIPLE"); /* that of the process */
  CHECK(provided == MPI_THREAD_MULTIPLE);
  for (i = 0; i < kThreads; i++) OK(MPI_Comm_dup(MPI_COMM_WORLD, &parents[i]));
  for (i = 0; i < kThreads; i++) pthread_create(&threads[i], NULL, work, (void*)(long)i);
  for (i = 0; i < kThreads; i++) pthread_join(threads[i], NULL);
  for (i = 0; i < kThreads; i++) {
    CHECK(wrong[i] == 0);
    OK(MPI_Comm_free(&parents[i]));
  }
  return check_finalize();
}
