/* SPDX-License-Identifier: BSD-3-Clause */
/* What could go wrong: bad arguments that crash, hang or pass unnoticed; a message too long for its buffer
   that writes past the end or is reported on the wrong request; half an element received in silence. */
#include "check.h"

static void arguments(int size) {
  int value = 0;
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Datatype type;
  MPI_Comm comm;
  CHECK_CLASS(MPI_Send(&value, 1, MPI_INT, size, 0, MPI_COMM_WORLD), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Send(&value, 1, MPI_INT, MPI_ANY_SOURCE, 0, MPI_COMM_WORLD), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Recv(&value, 1, MPI_INT, -7, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Send(&value, 1, MPI_INT, 0, -1, MPI_COMM_WORLD), MPI_ERR_TAG);
  CHECK_CLASS(MPI_Send(&value, 1, MPI_INT, 0, MPI_ANY_TAG, MPI_COMM_WORLD), MPI_ERR_TAG);
  CHECK_CLASS(MPI_Send(&value, -1, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Send(NULL, 1, MPI_INT, 0, 0, MPI_COMM_WORLD), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Send(&value, 1, MPI_DATATYPE_NULL, 0, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_Send(&value, 1, (MPI_Datatype)0x7fff0001, 0, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_Isend(&value, 1, MPI_INT, 0, 0, MPI_COMM_WORLD, NULL), MPI_ERR_ARG);
  OK(MPI_Type_contiguous(2, MPI_INT, &type));
  CHECK_CLASS(MPI_Send(&value, 1, type, 0, 0, MPI_COMM_WORLD), MPI_ERR_TYPE);
  OK(MPI_Type_free(&type));
  CHECK(type == MPI_DATATYPE_NULL);
  OK(MPI_Comm_dup(MPI_COMM_SELF, &comm));
  {
    MPI_Comm freed = comm;
    OK(MPI_Comm_free(&comm));
    CHECK(comm == MPI_COMM_NULL);
    CHECK_CLASS(MPI_Send(&value, 1, MPI_INT, 0, 0, freed), MPI_ERR_COMM);
    CHECK_CLASS(MPI_Send(&value, 1, MPI_INT, 0, 0, MPI_COMM_NULL), MPI_ERR_COMM);
    CHECK_CLASS(MPI_Send(&value, 1, MPI_INT, 0, 0, (MPI_Comm)(intptr_t)-5), MPI_ERR_COMM);
  }
  CHECK_CLASS(MPI_Start(&request), MPI_ERR_REQUEST);
  CHECK_CLASS(MPI_Request_free(&request), MPI_ERR_REQUEST);
  request = (MPI_Request)(intptr_t)123456;
  CHECK_CLASS(MPI_Wait(&request, MPI_STATUS_IGNORE), MPI_ERR_REQUEST);
  CHECK_CLASS(MPI_Buffer_detach(&value, &value), MPI_ERR_BUFFER);
}

/* The number of bytes would wrap: to 12 for integers, to 0 for the long type. */
static void too_many_bytes(void) {
  const MPI_Count many = ((MPI_Count)1 << 62) + 3, part = (MPI_Count)1 << 59;
  int value[4] = {0}, in[4] = {0};
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Datatype type;
  CHECK_CLASS(MPI_Send_c(value, many, MPI_INT, 0, 0, MPI_COMM_SELF), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Recv_c(in, many, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Isend_c(value, many, MPI_INT, 0, 0, MPI_COMM_SELF, &request), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Send_init_c(value, many, MPI_INT, 0, 0, MPI_COMM_SELF, &request), MPI_ERR_COUNT);
  CHECK_CLASS(
      MPI_Sendrecv_c(value, 1, MPI_INT, 0, 0, in, many, MPI_INT, 0, 0, MPI_COMM_SELF, MPI_STATUS_IGNORE),
      MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Bcast_c(value, many, MPI_INT, 0, MPI_COMM_SELF), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Reduce_local_c(value, in, many, MPI_INT, MPI_SUM), MPI_ERR_COUNT);
  CHECK(request == MPI_REQUEST_NULL);
  OK(MPI_Type_contiguous_c(part, MPI_INT, &type));
  OK(MPI_Type_commit(&type));
  CHECK_CLASS(MPI_Send(value, 8, type, 0, 0, MPI_COMM_SELF), MPI_ERR_COUNT);
  OK(MPI_Type_free(&type));
}

static void the_message_says_what_to_do(int size) {
  int value = 0, length = 0, code = MPI_Send(&value, 1, MPI_INT, size + 3, 0, MPI_COMM_WORLD);
  char text[MPI_MAX_ERROR_STRING];
  OK(MPI_Error_string(code, text, &length));
  CHECK(strstr(text, "MPI_Send") != NULL && strstr(text, "dest") != NULL);
  CHECK(length == (int)strlen(text));
}

static void truncation(int rank, int peer) {
  for (int big = 0; big < 2; big++) {
    char text[MPI_MAX_ERROR_STRING], sizes[80];
    int code, length, n = big ? 50000 : 10, small[5] = {1, 2, 3, 4, 5}, *out = calloc((size_t)n, sizeof(int));
    MPI_Request requests[2];
    MPI_Status statuses[2];
    OK(MPI_Irecv(small, 4, MPI_INT, peer, 50, MPI_COMM_WORLD, &requests[0]));
    OK(MPI_Isend(out, n, MPI_INT, peer, 50, MPI_COMM_WORLD, &requests[1]));
    CHECK_CLASS(MPI_Waitall(2, requests, statuses), MPI_ERR_IN_STATUS);
    CHECK(statuses[0].MPI_ERROR == MPI_ERR_TRUNCATE && statuses[1].MPI_ERROR == MPI_SUCCESS);
    CHECK(small[4] == 5);
    OK(MPI_Isend(out, n, MPI_INT, peer, 51, MPI_COMM_WORLD, &requests[1]));
    code = MPI_Recv(small, 4, MPI_INT, peer, 51, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    CHECK_CLASS(code, MPI_ERR_TRUNCATE);
    OK(MPI_Error_string(code, text, &length));
    sprintf(sizes, "has %zu bytes, the receive buffer 16;", (size_t)n * sizeof(int));
    CHECK(strstr(text, sizes) != NULL);
    CHECK(small[4] == 5);
    OK(MPI_Wait(&requests[1], MPI_STATUS_IGNORE));
    free(out);
  }
  (void)rank;
}

static void broken_elements(int peer) {
  char three[3] = {1, 2, 3};
  int in[4] = {0};
  double pair[2];
  MPI_Request request;
  OK(MPI_Isend(three, 3, MPI_BYTE, peer, 60, MPI_COMM_WORLD, &request));
  CHECK_CLASS(MPI_Recv(in, 4, MPI_INT, peer, 60, MPI_COMM_WORLD, MPI_STATUS_IGNORE), MPI_ERR_TYPE);
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  OK(MPI_Isend(in, 3, MPI_INT, peer, 61, MPI_COMM_WORLD, &request));
  {
    MPI_Request recv;
    OK(MPI_Irecv(pair, 2, MPI_DOUBLE, peer, 61, MPI_COMM_WORLD, &recv));
    CHECK_CLASS(MPI_Wait(&recv, MPI_STATUS_IGNORE), MPI_ERR_TYPE);
  }
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
}

int main(int argc, char** argv) {
  int rank, size;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  OK(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  arguments(size);
  too_many_bytes();
  the_message_says_what_to_do(size);
  truncation(rank, (rank ^ 1) < size ? (rank ^ 1) : rank);
  broken_elements((rank ^ 1) < size ? (rank ^ 1) : rank);
  return check_finalize();
}
