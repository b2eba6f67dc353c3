/* SPDX-License-Identifier: BSD-3-Clause */
/* What could go wrong: a generalized request is ready before the program says so; a thread that waits is not
   woken; query, free and cancel functions are called too often, too early, never, or with the wrong state;
   their return codes and statuses are lost; freeing before completing. */
#include <pthread.h>
#include <unistd.h>

#include "check.h"

typedef struct {
  int queried, freed, cancelled_when, query_gives, free_gives;
} state_t;

static int query(void* extra, MPI_Status* status) {
  state_t* s = extra;
  s->queried++;
  MPI_Status_set_elements(status, MPI_INT, 5);
  MPI_Status_set_cancelled(status, s->cancelled_when != -1);
  status->MPI_SOURCE = 11;
  status->MPI_TAG = 22;
  return s->query_gives;
}
static int gone(void* extra) {
  state_t* s = extra;
  s->freed++;
  return s->free_gives;
}
static int cancel(void* extra, int complete) {
  ((state_t*)extra)->cancelled_when = complete;
  return MPI_SUCCESS;
}

static state_t fresh(void) {
  state_t s = {0, 0, -1, MPI_SUCCESS, MPI_SUCCESS};
  return s;
}
static MPI_Request begin(state_t* s) {
  MPI_Request request = MPI_REQUEST_NULL;
  OK(MPI_Grequest_start(query, gone, cancel, s, &request));
  return request;
}
static void check_status(const MPI_Status* status, int cancelled) {
  int count = -1, flag = -1;
  MPI_Get_count(status, MPI_INT, &count);
  MPI_Test_cancelled(status, &flag);
  CHECK(count == 5 && flag == cancelled && status->MPI_SOURCE == 11 && status->MPI_TAG == 22);
}

static void one(void) {
  state_t s = fresh();
  MPI_Request request = begin(&s);
  MPI_Status status;
  int flag = -1;
  OK(MPI_Test(&request, &flag, &status));
  CHECK(flag == 0 && s.queried == 0);
  OK(MPI_Grequest_complete(request));
  CHECK(s.freed == 0);
  OK(MPI_Request_get_status(request, &flag, &status));
  CHECK(flag == 1 && s.queried == 1 && s.freed == 0);
  check_status(&status, 0);
  OK(MPI_Wait(&request, &status));
  CHECK(request == MPI_REQUEST_NULL && s.queried == 2 && s.freed == 1);
  check_status(&status, 0);
}

static void cancelled(void) {
  state_t s = fresh();
  MPI_Request request = begin(&s);
  MPI_Status status;
  OK(MPI_Cancel(&request));
  CHECK(s.cancelled_when == 0);
  OK(MPI_Grequest_complete(request));
  OK(MPI_Cancel(&request)); /* a second time: now it is complete */
  CHECK(s.cancelled_when != -1 && s.cancelled_when != 0);
  OK(MPI_Wait(&request, &status));
  check_status(&status, 1);
  s = fresh();
  request = begin(&s);
  OK(MPI_Grequest_complete(request));
  OK(MPI_Cancel(&request));
  CHECK(s.cancelled_when != -1 && s.cancelled_when != 0);
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK(s.queried == 1 && s.freed == 1);
}

static void freed(void) {
  state_t s = fresh();
  MPI_Request request = begin(&s), copy = request;
  OK(MPI_Request_free(&request));
  CHECK(request == MPI_REQUEST_NULL && s.freed == 0);
  OK(MPI_Grequest_complete(copy));
  CHECK(s.freed == 1 && s.queried == 0);
  s = fresh();
  request = begin(&s);
  OK(MPI_Grequest_complete(request));
  OK(MPI_Request_free(&request));
  CHECK(s.freed == 1 && s.queried == 0);
}

static void many(void) { /* among receives, in every call that completes several */
  state_t s[3] = {fresh(), fresh(), fresh()};
  MPI_Request requests[4];
  MPI_Status statuses[4];
  int i, index = -1, flag = -1, out = 0, where[4], got = 0, sent = 7;
  for (i = 0; i < 3; i++) requests[i] = begin(&s[i]);
  OK(MPI_Irecv(&got, 1, MPI_INT, 0, 1, MPI_COMM_SELF, &requests[3]));
  OK(MPI_Testany(4, requests, &index, &flag, statuses));
  CHECK(flag == 0);
  OK(MPI_Grequest_complete(requests[1]));
  OK(MPI_Waitany(4, requests, &index, statuses));
  CHECK(index == 1 && s[1].queried == 1 && s[1].freed == 1);
  check_status(&statuses[0], 0);
  OK(MPI_Grequest_complete(requests[2]));
  OK(MPI_Waitsome(4, requests, &out, where, statuses));
  CHECK(out == 1 && where[0] == 2 && s[2].queried == 1 && s[2].freed == 1);
  OK(MPI_Grequest_complete(requests[0]));
  OK(MPI_Testall(4, requests, &flag, statuses));
  CHECK(flag == 0 && s[0].freed == 0);
  OK(MPI_Send(&sent, 1, MPI_INT, 0, 1, MPI_COMM_SELF));
  OK(MPI_Waitall(4, requests, statuses));
  CHECK(got == 7 && s[0].queried == 1 && s[0].freed == 1 && statuses[3].MPI_TAG == 1);
  check_status(&statuses[0], 0);
}

static void errors(void) {
  state_t s = fresh();
  MPI_Request request = begin(&s);
  MPI_Status status;
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  s.query_gives = MPI_ERR_OTHER;
  OK(MPI_Grequest_complete(request));
  CHECK_CLASS(MPI_Grequest_complete(request), MPI_ERR_REQUEST);
  CHECK_CLASS(MPI_Wait(&request, &status), MPI_ERR_OTHER);
  CHECK(s.freed == 1 && request == MPI_REQUEST_NULL);
  s = fresh();
  s.free_gives = MPI_ERR_ARG;
  request = begin(&s);
  OK(MPI_Grequest_complete(request));
  CHECK_CLASS(MPI_Waitall(1, &request, &status), MPI_ERR_IN_STATUS);
  CHECK_CLASS(status.MPI_ERROR, MPI_ERR_ARG);
  CHECK_CLASS(MPI_Grequest_complete(MPI_REQUEST_NULL), MPI_ERR_REQUEST);
  OK(MPI_Irecv(NULL, 0, MPI_INT, 0, 5, MPI_COMM_SELF, &request));
  CHECK_CLASS(MPI_Grequest_complete(request), MPI_ERR_REQUEST);
  OK(MPI_Cancel(&request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

static void* complete_later(void* handle) {
  usleep(20000);
  OK(MPI_Grequest_complete(*(MPI_Request*)handle));
  return NULL;
}
static void by_a_thread(void) {
  state_t s = fresh();
  MPI_Request request = begin(&s), copy = request;
  MPI_Status status;
  pthread_t thread;
  pthread_create(&thread, NULL, complete_later, &copy);
  OK(MPI_Wait(&request, &status));
  pthread_join(thread, NULL);
  check_status(&status, 0);
  CHECK(s.queried == 1 && s.freed == 1);
}

int main(int argc, char** argv) {
  int provided = -1;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  one();
  cancelled();
  freed();
  many();
  errors();
  by_a_thread();
  return check_finalize();
}
