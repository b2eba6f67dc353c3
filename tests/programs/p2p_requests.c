/* SPDX-License-Identifier: BSD-3-Clause */
/* What could go wrong: an index or status that belongs to another request, inactive and null requests
   counted, requests taken twice, get_status changing the request, an empty status with an old error, probes
   that lose or double a message.
 */
#include "check.h"

enum { kCount = 12 };

static void post(MPI_Request* requests, int* in, int peer) {
  for (int i = 0; i < kCount; i++) {
    in[i] = -1;
    OK(MPI_Irecv(&in[i], 1, MPI_INT, peer, 100 + i, MPI_COMM_WORLD, &requests[i]));
  }
}
static void send_all(int peer) {
  for (int i = kCount - 1; i >= 0; i--) OK(MPI_Send(&i, 1, MPI_INT, peer, 100 + i, MPI_COMM_WORLD));
}

static void any(int peer) {
  MPI_Request requests[kCount];
  int in[kCount], seen = 0, index, flag = 0;
  MPI_Status status;
  post(requests, in, peer);
  OK(MPI_Testany(kCount, requests, &index, &flag, &status));
  if (!flag) CHECK(index == MPI_UNDEFINED);
  if (flag) seen |= 1 << index;
  send_all(peer);
  for (int i = flag ? 1 : 0; i < kCount; i++) {
    OK(MPI_Waitany(kCount, requests, &index, &status));
    CHECK(index >= 0 && index < kCount && !(seen & (1 << index)));
    CHECK(status.MPI_TAG == 100 + index && in[index] == index && requests[index] == MPI_REQUEST_NULL);
    seen |= 1 << index;
  }
  OK(MPI_Waitany(kCount, requests, &index, &status));
  CHECK(index == MPI_UNDEFINED && status.MPI_SOURCE == MPI_ANY_SOURCE && status.MPI_TAG == MPI_ANY_TAG);
  OK(MPI_Testany(kCount, requests, &index, &flag, &status));
  CHECK(flag && index == MPI_UNDEFINED);
}

static void some(int peer) {
  MPI_Request requests[kCount];
  MPI_Status statuses[kCount];
  int in[kCount], indices[kCount], out, left = kCount;
  post(requests, in, peer);
  send_all(peer);
  while (left > 0) {
    if (left & 1)
      OK(MPI_Testsome(kCount, requests, &out, indices, statuses));
    else
      OK(MPI_Waitsome(kCount, requests, &out, indices, statuses));
    CHECK(out >= 0 && out <= left);
    for (int i = 0; i < out; i++)
      CHECK(statuses[i].MPI_TAG == 100 + indices[i] && in[indices[i]] == indices[i]);
    left -= out;
  }
  OK(MPI_Waitsome(kCount, requests, &out, indices, statuses));
  CHECK(out == MPI_UNDEFINED);
  OK(MPI_Testsome(kCount, requests, &out, indices, MPI_STATUSES_IGNORE));
  CHECK(out == MPI_UNDEFINED);
}

static void all_and_status(int peer) {
  MPI_Request requests[kCount + 1];
  MPI_Status statuses[kCount + 1], status;
  int in[kCount], flag = 0, index, out, indices[kCount];
  post(requests, in, peer);
  requests[kCount] = MPI_REQUEST_NULL;
  send_all(peer);
  while (!flag) OK(MPI_Request_get_status_all(kCount + 1, requests, &flag, statuses));
  for (int i = 0; i < kCount; i++) CHECK(statuses[i].MPI_TAG == 100 + i);
  OK(MPI_Request_get_status(requests[3], &flag, &status));
  CHECK(flag && status.MPI_TAG == 103 && requests[3] != MPI_REQUEST_NULL);
  OK(MPI_Request_get_status_any(kCount, requests, &index, &flag, &status));
  CHECK(flag && status.MPI_TAG == 100 + index);
  OK(MPI_Request_get_status_some(kCount, requests, &out, indices, statuses));
  CHECK(out == kCount);
  flag = 0;
  while (!flag) OK(MPI_Testall(kCount + 1, requests, &flag, statuses));
  CHECK(statuses[kCount].MPI_SOURCE == MPI_ANY_SOURCE);
  for (int i = 0; i < kCount; i++) CHECK(requests[i] == MPI_REQUEST_NULL && in[i] == i);
}

static void probes(int rank, int peer) {
  int value[30], count, flag = 0;
  MPI_Status status;
  MPI_Message message;
  MPI_Request request, send;
  for (int i = 0; i < 30; i++) value[i] = rank + i;
  OK(MPI_Isend(value, 30, MPI_INT, peer, 200, MPI_COMM_WORLD, &send));
  OK(MPI_Probe(MPI_ANY_SOURCE, 200, MPI_COMM_WORLD, &status));
  OK(MPI_Get_count(&status, MPI_INT, &count));
  CHECK(count == 30 && status.MPI_SOURCE == peer);
  while (!flag) OK(MPI_Iprobe(peer, MPI_ANY_TAG, MPI_COMM_WORLD, &flag, &status));
  CHECK(status.MPI_TAG == 200);
  OK(MPI_Mprobe(peer, 200, MPI_COMM_WORLD, &message, &status));
  OK(MPI_Iprobe(peer, 200, MPI_COMM_WORLD, &flag, &status));
  CHECK(!flag); /* it is taken */
  OK(MPI_Mrecv(value, 30, MPI_INT, &message, &status));
  CHECK(message == MPI_MESSAGE_NULL && value[29] == peer + 29);
  OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
  OK(MPI_Isend(value, 30, MPI_INT, peer, 201, MPI_COMM_WORLD, &send));
  flag = 0;
  while (!flag) OK(MPI_Improbe(peer, 201, MPI_COMM_WORLD, &flag, &message, &status));
  OK(MPI_Imrecv(value, 30, MPI_INT, &message, &request));
  OK(MPI_Wait(&request, &status));
  CHECK(status.MPI_TAG == 201 && value[0] == rank);
  OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
}

/* The status of a null request, or of no request, is empty, its error MPI_SUCCESS. */
static void check_empty(MPI_Status* status) {
  int count = -1;
  OK(MPI_Get_count(status, MPI_INT, &count));
  CHECK(status->MPI_ERROR == MPI_SUCCESS && status->MPI_SOURCE == MPI_ANY_SOURCE);
  CHECK(status->MPI_TAG == MPI_ANY_TAG && count == 0);
  status->MPI_ERROR = 77;
}

static void empty(void) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Status status;
  int count, flag = 0, index = 0;
  status.MPI_ERROR = 77;
  OK(MPI_Wait(&request, &status));
  check_empty(&status);
  OK(MPI_Test(&request, &flag, &status));
  check_empty(&status);
  OK(MPI_Request_get_status(request, &flag, &status));
  check_empty(&status);
  for (count = 0; count < 2; count++) {
    OK(MPI_Waitany(count, &request, &index, &status));
    check_empty(&status);
    OK(MPI_Testany(count, &request, &index, &flag, &status));
    check_empty(&status);
    OK(MPI_Request_get_status_any(count, &request, &index, &flag, &status));
    check_empty(&status);
    CHECK(flag && index == MPI_UNDEFINED);
  }
}

static void fields_take_any_value(void) {
  MPI_Status status;
  int source, tag, error;
  OK(MPI_Status_set_source(&status, MPI_ANY_SOURCE));
  OK(MPI_Status_set_tag(&status, MPI_ANY_TAG));
  OK(MPI_Status_set_error(&status, 123456));
  OK(MPI_Status_get_source(&status, &source));
  OK(MPI_Status_get_tag(&status, &tag));
  OK(MPI_Status_get_error(&status, &error));
  CHECK(source == MPI_ANY_SOURCE && tag == MPI_ANY_TAG && error == 123456);
}

static void inactive(void) {
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Status status;
  int flag = 0, value;
  OK(MPI_Wait(&request, &status));
  CHECK(status.MPI_SOURCE == MPI_ANY_SOURCE);
  OK(MPI_Recv_init(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, &request));
  OK(MPI_Test(&request, &flag, &status));
  CHECK(flag && request != MPI_REQUEST_NULL && status.MPI_TAG == MPI_ANY_TAG);
  OK(MPI_Request_free(&request));
}

int main(int argc, char** argv) {
  int rank, size, peer;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  peer = (rank ^ 1) < size ? (rank ^ 1) : rank;
  any(peer);
  some(peer);
  all_and_status(peer);
  probes(rank, peer);
  inactive();
  empty();
  fields_take_any_value();
  return check_finalize();
}
