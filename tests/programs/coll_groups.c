/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_groups.c: calls from one rank to some: scatterv, alltoallv and alltoallw with empty parts, over and
   over with the same sets and with others, blocking, nonblocking (several at once) and with opened groups;
   ranks without a part run ahead. What could go wrong: a part goes to the wrong rank or to the wrong
   call, arrives twice or never; a lane of a few members outlives its communicator, or does not live long
   enough. */
#include <mpix.h>
#include "check.h"

enum { kMost = 16, kLongest = 3000, kAtOnce = 3 };

static int rank, size;

/* Bytes that `from` has for `to` in this call: of few or of most ranks, short or long. */
static int part(int call, int set, int from, int to) {
  const unsigned x = (unsigned)(set * 7919 + from * 104729 + to * 1299709) * 2654435761u;
  static const int sizes[] = {1, 8, 100, 700, 1500, kLongest};
  (void)call;
  if ((x >> 8) % 4 >= (unsigned)(set % 3 + 1)) return 0;
  return sizes[(set + (int)(x >> 16) % 2) % 6];
}
static char byte(int call, int from, int to, int i) { return (char)(call * 31 + from * 7 + to * 3 + i); }

struct Buffers {
  char send[kMost * kLongest], recv[kMost * kLongest];
  int send_counts[kMost], recv_counts[kMost], places[kMost];
  MPI_Datatype types[kMost];
};
static struct Buffers buffers[kAtOnce];

static void fill(struct Buffers* b, int call, int set) {
  memset(b->recv, 0x5a, sizeof b->recv);
  for (int i = 0; i < size; ++i) {
    b->send_counts[i] = part(call, set, rank, i);
    b->recv_counts[i] = part(call, set, i, rank);
    b->places[i] = i * kLongest;
    b->types[i] = MPI_CHAR;
    for (int k = 0; k < b->send_counts[i]; ++k) b->send[i * kLongest + k] = byte(call, rank, i, k);
  }
}
static void judge(const struct Buffers* b, int call, int from, int place) {
  int wrong = 0;
  for (int k = 0; k < b->recv_counts[from]; ++k)
    wrong += b->recv[place * kLongest + k] != byte(call, from, rank, k);
  CHECK(wrong == 0);
  CHECK(b->recv[place * kLongest + b->recv_counts[from]] == 0x5a || b->recv_counts[from] == kLongest);
}

static void scatterv(MPI_Comm comm, int sets, int times) {
  for (int set = 0; set < sets; ++set)
    for (int call = 0; call < times; ++call) {
      struct Buffers* b = &buffers[call % kAtOnce];
      const int root = set % size;
      fill(b, call, set);
      OK(MPI_Scatterv(b->send, b->send_counts, b->places, MPI_CHAR, b->recv, b->recv_counts[root], MPI_CHAR,
                      root, comm));
      judge(b, call, root, 0);
    }
}

static void nonblocking(MPI_Comm comm, int sets) {
  for (int set = 0; set < sets; ++set) {
    MPI_Request requests[kAtOnce];
    const int root = set % size;
    for (int i = 0; i < kAtOnce; ++i) {
      struct Buffers* b = &buffers[i];
      fill(b, i, set);
      OK(MPI_Iscatterv(b->send, b->send_counts, b->places, MPI_CHAR, b->recv, b->recv_counts[root], MPI_CHAR,
                       root, comm, &requests[i]));
    }
    OK(MPI_Waitall(kAtOnce, requests, MPI_STATUSES_IGNORE));
    for (int i = 0; i < kAtOnce; ++i) judge(&buffers[i], i, root, 0);
  }
}

static void alltoall(MPI_Comm comm, int sets, int times) {
  for (int set = 0; set < sets; ++set)
    for (int call = 0; call < times; ++call) {
      struct Buffers* b = &buffers[call % kAtOnce];
      fill(b, call, set);
      if (call % 2 == 0)
        OK(MPI_Alltoallv(b->send, b->send_counts, b->places, MPI_CHAR, b->recv, b->recv_counts, b->places,
                         MPI_CHAR, comm));
      else
        OK(MPI_Alltoallw(b->send, b->send_counts, b->places, b->types, b->recv, b->recv_counts, b->places,
                         b->types, comm));
      for (int from = 0; from < size; ++from) judge(b, call, from, from);
    }
}

static void opened(MPI_Comm comm, int times) {
  MPI_Request one, all;
  struct Buffers *a = &buffers[0], *b = &buffers[1];
  fill(a, 0, 2);
  fill(b, 0, 1);
  OK(MPIX_Scatterv_open_group(a->send, a->send_counts, a->places, MPI_CHAR, a->recv, a->recv_counts[1 % size],
                              MPI_CHAR, 1 % size, comm, &one));
  OK(MPIX_Alltoallw_open_group(b->send, b->send_counts, b->places, b->types, b->recv, b->recv_counts,
                               b->places, b->types, comm, &all));
  for (int call = 0; call < times; ++call) {
    fill(a, call, 2);
    fill(b, call, 1);
    OK(MPIX_Scatterv_data_movement(&one));
    OK(MPIX_Alltoallw_data_movement(&all));
    judge(a, call, 1 % size, 0);
    for (int from = 0; from < size; ++from) judge(b, call, from, from);
  }
  OK(MPIX_Scatterv_close_group(&one));
  OK(MPIX_Alltoallw_close_group(&all));
  CHECK(one == MPI_REQUEST_NULL && all == MPI_REQUEST_NULL);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size > kMost) MPI_Abort(MPI_COMM_WORLD, 2);
  for (int round = 0; round < 2; ++round) {
    MPI_Comm comm = MPI_COMM_NULL;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    scatterv(comm, 9, 6);
    nonblocking(comm, 6);
    alltoall(comm, 6, 4);
    opened(comm, 8);
    OK(MPI_Comm_free(&comm));
  }
  return check_finalize();
}
