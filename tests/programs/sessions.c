/* SPDX-License-Identifier: BSD-3-Clause */
/* Sessions, without MPI_Init. What could go wrong: process sets with wrong sizes or names cut without a
   terminator; a communicator from a group whose members do not agree on its context; two made at once under
   different tags that mix; a second session after the last one was finalized that does not start; an exit
   that leaves peers waiting. */
#include <mpi.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int failures;
#define CHECK(condition)                                                      \
  do {                                                                        \
    if (!(condition)) {                                                       \
      fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #condition); \
      failures++;                                                             \
    }                                                                         \
  } while (0)
#define OK(call) CHECK((call) == MPI_SUCCESS)

#include "session_level.h"

static void check_psets(MPI_Session session) {
  int n, length, flag;
  char name[MPI_MAX_PSET_NAME_LEN], value[32];
  MPI_Info info;
  OK(MPI_Session_get_num_psets(session, MPI_INFO_NULL, &n));
  CHECK(n >= 2);
  length = 0;
  OK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, &length, NULL));
  CHECK(length == (int)strlen("mpi://WORLD") + 1);
  length = 4;
  OK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 0, &length, name));
  CHECK(strcmp(name, "mpi") == 0);
  length = sizeof name;
  OK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, 1, &length, name));
  CHECK(strcmp(name, "mpi://SELF") == 0);
  CHECK(MPI_Session_get_nth_pset(session, MPI_INFO_NULL, n, &length, name) == MPI_ERR_ARG);
  OK(MPI_Session_get_pset_info(session, "mpi://SELF", &info));
  length = sizeof value;
  OK(MPI_Info_get_string(info, "mpi_size", &length, value, &flag));
  CHECK(flag && strcmp(value, "1") == 0);
  OK(MPI_Info_free(&info));
  CHECK(MPI_Session_get_pset_info(session, "mpi://HERE", &info) == MPI_ERR_ARG);
}

/* A token around the ring in `comm` returns with the size. */
static void check_ring(MPI_Comm comm) {
  int rank, size, token = 0;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  if (size == 1) return;
  if (rank == 0) {
    token = 1;
    OK(MPI_Send(&token, 1, MPI_INT, 1, 3, comm));
    OK(MPI_Recv(&token, 1, MPI_INT, size - 1, 3, comm, MPI_STATUS_IGNORE));
    CHECK(token == size);
  } else {
    OK(MPI_Recv(&token, 1, MPI_INT, rank - 1, 3, comm, MPI_STATUS_IGNORE));
    token++;
    OK(MPI_Send(&token, 1, MPI_INT, (rank + 1) % size, 3, comm));
  }
}

struct job {
  MPI_Group group;
  char tag[32];
  MPI_Comm comm;
};

static void* make(void* argument) {
  struct job* job = argument;
  OK(MPI_Comm_create_from_group(job->group, job->tag, MPI_INFO_NULL, MPI_ERRORS_RETURN, &job->comm));
  return NULL;
}

/* Each process begins them in another order. */
static void check_threads(MPI_Group group) {
  enum { n = 4 };
  struct job jobs[n];
  pthread_t threads[n];
  int i, rank;
  MPI_Group_rank(group, &rank);
  for (i = 0; i < n; i++) {
    jobs[i].group = group;
    snprintf(jobs[i].tag, sizeof jobs[i].tag, "thread-%d", i);
  }
  for (i = 0; i < n; i++) pthread_create(&threads[(i + rank) % n], NULL, make, &jobs[(i + rank) % n]);
  for (i = 0; i < n; i++) pthread_join(threads[i], NULL);
  for (i = 0; i < n; i++) {
    check_ring(jobs[i].comm);
    OK(MPI_Comm_free(&jobs[i].comm));
  }
}

/* The process's buffer serves a communicator of a session that has none; the session's own comes first. */
static void check_buffers(MPI_Session session, MPI_Comm alone) {
  char of_process[1000], of_session[1000], *detached;
  int out = 5, in = 0, size;
  MPI_Buffer_attach(of_process, sizeof of_process);
  OK(MPI_Bsend(&out, 1, MPI_INT, 0, 8, alone));
  OK(MPI_Recv(&in, 1, MPI_INT, 0, 8, alone, MPI_STATUS_IGNORE));
  CHECK(in == 5);
  OK(MPI_Session_attach_buffer(session, of_session, sizeof of_session));
  OK(MPI_Bsend(&out, 1, MPI_INT, 0, 8, alone));
  OK(MPI_Recv(&in, 1, MPI_INT, 0, 8, alone, MPI_STATUS_IGNORE));
  OK(MPI_Session_detach_buffer(session, &detached, &size));
  CHECK(detached == of_session);
  OK(MPI_Buffer_detach(&detached, &size));
  CHECK(detached == of_process);
}

static void one_session(int round) {
  MPI_Session session;
  MPI_Group group, self;
  MPI_Comm comm, small, copy;
  MPI_Info info;
  char value[64];
  int flag, length = 64, size, started = 7;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "thread_level", "MPI_THREAD_MULTIPLE"));
  OK(MPI_Session_init(info, MPI_ERRORS_RETURN, &session));
  OK(MPI_Info_free(&info));
  OK(MPI_Initialized(&started));
  CHECK(!started); /* that is about the world */
  OK(MPI_Session_get_info(session, &info));
  OK(MPI_Info_get_string(info, "thread_level", &length, value, &flag));
  CHECK(flag && strcmp(value, "MPI_THREAD_MULTIPLE") == 0);
  OK(MPI_Info_free(&info));
  check_psets(session);
  OK(MPI_Group_from_session_pset(session, "mpi://WORLD", &group));
  OK(MPI_Group_from_session_pset(session, "mpi://SELF", &self));
  OK(MPI_Group_size(group, &size));
  OK(MPI_Comm_create_from_group(group, "org.example.ring", MPI_INFO_NULL, MPI_ERRORS_RETURN, &comm));
  OK(MPI_Comm_create_from_group(self, "alone", MPI_INFO_NULL, MPI_ERRORS_RETURN, &small));
  check_ring(comm);
  check_ring(small);
  check_buffers(session, small);
  OK(MPI_Comm_dup(comm, &copy));
  check_ring(copy);
  OK(MPI_Comm_free(&copy));
  if (round == 0) check_threads(group);
  OK(MPI_Comm_free(&small));
  OK(MPI_Comm_disconnect(&comm));
  OK(MPI_Group_free(&self));
  OK(MPI_Group_free(&group));
  OK(MPI_Session_finalize(&session));
  CHECK(session == MPI_SESSION_NULL);
}

int main(void) {
  MPI_Session a, b;
  MPI_Group group;
  MPI_Comm comm;
  int i, rank, all;
  for (i = 0; i < 3; i++) one_session(i);
  check_session_level("MPI_THREAD_MULTIPLE"); /* without MPI_Init, and none is named */
  /* Two at the same time; the failures are added up over one of them. */
  OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &a));
  OK(MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &b));
  OK(MPI_Session_finalize(&a));
  OK(MPI_Group_from_session_pset(b, "mpi://WORLD", &group));
  OK(MPI_Comm_create_from_group(group, "sum", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &comm));
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &i);
  all = failures;
  if (rank == 0) {
    for (i--; i > 0; i--) {
      int one = 0;
      MPI_Recv(&one, 1, MPI_INT, i, 1, comm, MPI_STATUS_IGNORE);
      all += one;
    }
  } else {
    MPI_Send(&failures, 1, MPI_INT, 0, 1, comm);
  }
  MPI_Comm_free(&comm);
  MPI_Group_free(&group);
  MPI_Session_finalize(&b);
  if (rank == 0) printf(all == 0 ? "passed\n" : "failed: %d\n", all);
  return all != 0;
}
