/* SPDX-License-Identifier: BSD-3-Clause */
/* What could go wrong: bytes are lost or mixed up at the sizes where the protocol changes (one cell, push
   limit, pulls), wrong source, tag or count in the status, messages overtaking each other, wildcards taking
   the wrong one. */
#include "check.h"

static const int sizes[] = {0,    1,    7,    8,    63,    64,     1000,    4000,
                            4095, 4096, 4097, 8192, 65536, 100001, 1 << 20, 3000000};

static void fill(unsigned char* buf, int n, int seed) {
  for (int i = 0; i < n; i++) buf[i] = (unsigned char)(i * 7 + seed * 13 + (i >> 8));
}
static int same(const unsigned char* buf, int n, int seed) {
  for (int i = 0; i < n; i++)
    if (buf[i] != (unsigned char)(i * 7 + seed * 13 + (i >> 8))) return 0;
  return 1;
}

static void every_size_round_the_ring(int rank, int size) {
  int next = (rank + 1) % size, prev = (rank + size - 1) % size;
  for (unsigned s = 0; s < sizeof sizes / sizeof *sizes; s++) {
    int n = sizes[s], got = -1;
    unsigned char* out = malloc((size_t)n + 1);
    unsigned char* in = calloc((size_t)n + 1, 1);
    MPI_Status status;
    fill(out, n, rank + n);
    in[n] = 0x5a;
    OK(MPI_Sendrecv(out, n, MPI_BYTE, next, n % 1000, in, n, MPI_BYTE, prev, n % 1000, MPI_COMM_WORLD,
                    &status));
    OK(MPI_Get_count(&status, MPI_BYTE, &got));
    CHECK(got == n && status.MPI_SOURCE == prev && status.MPI_TAG == n % 1000);
    CHECK(same(in, n, prev + n) && in[n] == 0x5a);
    free(out);
    free(in);
  }
}

static void order_is_kept(int rank, int size) {
  enum { kMessages = 2000 };
  int next = (rank + 1) % size, prev = (rank + size - 1) % size;
  MPI_Request* sends = malloc(sizeof *sends * kMessages);
  int* values = malloc(sizeof *values * kMessages);
  for (int i = 0; i < kMessages; i++) {
    values[i] = i;
    OK(MPI_Isend(&values[i], 1, MPI_INT, next, i % 3, MPI_COMM_WORLD, &sends[i]));
  }
  /* by tag: within a tag the order holds, across tags any order may be taken */
  for (int tag = 2; tag >= 0; tag--)
    for (int i = tag; i < kMessages; i += 3) {
      int got = -1;
      OK(MPI_Recv(&got, 1, MPI_INT, prev, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
      CHECK(got == i);
    }
  OK(MPI_Waitall(kMessages, sends, MPI_STATUSES_IGNORE));
  free(sends);
  free(values);
}

static void wildcards(int rank, int size) {
  if (rank == 0) {
    int seen = 0, sum = 0;
    for (int i = 0; i < 3 * (size - 1); i++) {
      int got[2] = {-1, -1};
      MPI_Status status;
      OK(MPI_Recv(got, 2, MPI_INT, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &status));
      CHECK(got[0] == status.MPI_SOURCE && got[1] == status.MPI_TAG);
      seen++;
      sum += got[0];
    }
    CHECK(seen == 3 * (size - 1) && sum == 3 * size * (size - 1) / 2);
  } else {
    for (int tag = 10; tag < 13; tag++) {
      int value[2] = {rank, tag};
      OK(MPI_Send(value, 2, MPI_INT, 0, tag, MPI_COMM_WORLD));
    }
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

static void to_myself(int rank) {
  unsigned char out[10000], in[10000];
  MPI_Request request;
  fill(out, 10000, rank);
  memset(in, 0, sizeof in);
  OK(MPI_Irecv(in, 10000, MPI_BYTE, rank, 3, MPI_COMM_WORLD, &request));
  OK(MPI_Send(out, 10000, MPI_BYTE, rank, 3, MPI_COMM_WORLD));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK(same(in, 10000, rank) && request == MPI_REQUEST_NULL);
  OK(MPI_Isend(out, 100, MPI_BYTE, rank, 4, MPI_COMM_WORLD, &request));
  memset(in, 0, sizeof in);
  OK(MPI_Recv(in, 100, MPI_BYTE, MPI_ANY_SOURCE, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK(same(in, 100, rank));
}

static void nobody(void) {
  int value = 42, count = -1, flag = 0;
  MPI_Status status;
  MPI_Request request;
  MPI_Message message;
  OK(MPI_Send(&value, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD));
  OK(MPI_Recv(&value, 1, MPI_INT, MPI_PROC_NULL, 5, MPI_COMM_WORLD, &status));
  OK(MPI_Get_count(&status, MPI_INT, &count));
  CHECK(value == 42 && count == 0 && status.MPI_SOURCE == MPI_PROC_NULL && status.MPI_TAG == MPI_ANY_TAG);
  OK(MPI_Recv(NULL, 0, MPI_DATATYPE_NULL, MPI_PROC_NULL, 5, MPI_COMM_WORLD, &status));
  CHECK(status.MPI_SOURCE == MPI_PROC_NULL);
  OK(MPI_Probe(MPI_PROC_NULL, 5, MPI_COMM_WORLD, &status));
  CHECK(status.MPI_SOURCE == MPI_PROC_NULL);
  OK(MPI_Improbe(MPI_PROC_NULL, 5, MPI_COMM_WORLD, &flag, &message, &status));
  CHECK(flag && message == MPI_MESSAGE_NO_PROC);
  OK(MPI_Mrecv(&value, 1, MPI_INT, &message, &status));
  CHECK(message == MPI_MESSAGE_NULL && status.MPI_SOURCE == MPI_PROC_NULL);
  OK(MPI_Irecv(&value, 1, MPI_INT, MPI_PROC_NULL, 5, MPI_COMM_WORLD, &request));
  OK(MPI_Wait(&request, &status));
  CHECK(status.MPI_SOURCE == MPI_PROC_NULL);
  OK(MPI_Sendrecv(&value, 1, MPI_INT, MPI_PROC_NULL, 0, &count, 1, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD,
                  &status));
  CHECK(status.MPI_SOURCE == MPI_PROC_NULL);
}

static void replace(int rank, int size) {
  enum { kCount = 20000 };
  int next = (rank + 1) % size, prev = (rank + size - 1) % size, ok = 1;
  int* data = malloc(sizeof(int) * kCount);
  MPI_Request request;
  for (int i = 0; i < kCount; i++) data[i] = rank * 100000 + i;
  OK(MPI_Sendrecv_replace(data, kCount, MPI_INT, next, 6, prev, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE));
  for (int i = 0; i < kCount; i++) ok &= data[i] == prev * 100000 + i;
  CHECK(ok);
  OK(MPI_Isendrecv_replace(data, kCount, MPI_INT, prev, 7, next, 7, MPI_COMM_WORLD, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  for (int i = 0; i < kCount; i++) ok &= data[i] == rank * 100000 + i;
  CHECK(ok);
  free(data);
}

int main(int argc, char** argv) {
  int rank, size;
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  every_size_round_the_ring(rank, size);
  order_is_kept(rank, size);
  wildcards(rank, size);
  to_myself(rank);
  nobody();
  replace(rank, size);
  return check_finalize();
}
