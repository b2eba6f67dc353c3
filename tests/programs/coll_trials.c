/* SPDX-License-Identifier: BSD-3-Clause */
/* What could go wrong where algorithms are tried in turns: two ranks take different ones for the same call,
   also when nonblocking, persistent and blocking calls, communicators and lengths alternate; a plan is freed
   while it runs. */
#include "check.h"

enum { kCalls = 60, kItems = 4096 };

static int rank, size;
static int mine[kItems], all[kItems * 16], parts[kItems];

static int value(int r, int call, int i) { return r * 1000003 + call * 131 + i; }

static void bcast(MPI_Comm comm, int call, int items, int nonblocking) {
  const int root = call % size;
  for (int i = 0; i < items; ++i) mine[i] = rank == root ? value(root, call, i) : -1;
  if (nonblocking) {
    MPI_Request request;
    OK(MPI_Ibcast(mine, items, MPI_INT, root, comm, &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  } else {
    OK(MPI_Bcast(mine, items, MPI_INT, root, comm));
  }
  for (int i = 0; i < items; ++i) CHECK(mine[i] == value(root, call, i));
}

static void allreduce(MPI_Comm comm, int call, int items) {
  for (int i = 0; i < items; ++i) mine[i] = value(rank, call, i) % 1000;
  OK(MPI_Allreduce(mine, parts, items, MPI_INT, MPI_SUM, comm));
  for (int i = 0; i < items; ++i) {
    int sum = 0;
    for (int r = 0; r < size; ++r) sum += value(r, call, i) % 1000;
    CHECK(parts[i] == sum);
  }
}

static void alltoall(MPI_Comm comm, int call, int items) {
  for (int r = 0; r < size; ++r)
    for (int i = 0; i < items; ++i) mine[r * items + i] = value(rank, call, r * items + i);
  OK(MPI_Alltoall(mine, items, MPI_INT, all, items, MPI_INT, comm));
  for (int r = 0; r < size; ++r)
    for (int i = 0; i < items; ++i) CHECK(all[r * items + i] == value(r, call, rank * items + i));
}

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  OK(MPI_Comm_rank(MPI_COMM_WORLD, &rank));
  OK(MPI_Comm_size(MPI_COMM_WORLD, &size));
  MPI_Comm copy;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
  MPI_Request kept;
  static int told[kItems];
  OK(MPI_Bcast_init(told, kItems, MPI_INT, 0, copy, MPI_INFO_NULL, &kept));
  for (int call = 0; call < kCalls; ++call) {
    bcast(MPI_COMM_WORLD, call, kItems, call % 5 == 3);
    bcast(MPI_COMM_WORLD, call, kItems / 2, 0);
    bcast(copy, call, kItems, 0);
    allreduce(call % 2 ? copy : MPI_COMM_WORLD, call, kItems);
    alltoall(MPI_COMM_WORLD, call, kItems / size);
    if (call % 7 != 0) continue;
    for (int i = 0; i < kItems; ++i) told[i] = rank == 0 ? value(0, call, i) : -1;
    OK(MPI_Start(&kept));
    OK(MPI_Wait(&kept, MPI_STATUS_IGNORE));
    for (int i = 0; i < kItems; ++i) CHECK(told[i] == value(0, call, i));
  }
  OK(MPI_Request_free(&kept));
  OK(MPI_Comm_free(&copy));
  return check_finalize();
}
