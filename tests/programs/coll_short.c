/* SPDX-License-Identifier: BSD-3-Clause */
/* What could go wrong with short collectives, which a fused exchange carries: a rank gets the data of another
   call; calls in flight at once are mixed up or wait for each other for ever. So do persistent calls that
   ranks start in different orders, communicators that are freed at once, types with gaps, MPI_IN_PLACE, and
   operations that do not commute. */
#include "check.h"

enum { kRounds = 60, kAtOnce = 30, kKept = 3, kItems = 3 };

static int rank, size;

static long part(int r, int call) { return (long)r * 131 + (long)call * 17 + 1; }
static long sum(int call) {
  long all = 0;
  for (int r = 0; r < size; ++r) all += part(r, call);
  return all;
}

/* The composition of x -> a x + b: does not commute. */
typedef struct {
  unsigned a, b;
} line;
static void compose(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  for (int i = 0; i < *count; ++i) {
    const line left = ((const line*)in)[i], right = ((const line*)inout)[i];
    ((line*)inout)[i] = (line){left.a * right.a, left.a * right.b + left.b};
  }
}

static void blocking(MPI_Comm comm) {
  long all[64];
  for (int call = 0; call < kRounds; ++call) {
    long mine = part(rank, call), total = 0;
    OK(MPI_Allreduce(&mine, &total, 1, MPI_LONG, MPI_SUM, comm));
    CHECK(total == sum(call));
    OK(MPI_Barrier(comm));
    for (int r = 0; r < size; ++r) all[r] = -1;
    OK(MPI_Allgather(&mine, 1, MPI_LONG, all, 1, MPI_LONG, comm));
    for (int r = 0; r < size; ++r) CHECK(all[r] == part(r, call));
    total = mine;
    OK(MPI_Allreduce(MPI_IN_PLACE, &total, 1, MPI_LONG, MPI_SUM, comm));
    CHECK(total == sum(call));
    all[rank] = mine + 1;
    OK(MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, all, 1, MPI_LONG, comm));
    for (int r = 0; r < size; ++r) CHECK(all[r] == part(r, call) + 1);
  }
}

static void types(MPI_Comm comm) {
  MPI_Datatype gappy, pair;
  MPI_Op op;
  OK(MPI_Type_vector(kItems, 1, 2, MPI_INT, &gappy));
  OK(MPI_Type_commit(&gappy));
  OK(MPI_Type_contiguous(2, MPI_UNSIGNED, &pair));
  OK(MPI_Type_commit(&pair));
  OK(MPI_Op_create(compose, 0, &op));
  int mine[2 * kItems], all[64 * 2 * kItems];
  for (int i = 0; i < 2 * kItems; ++i) mine[i] = rank * 100 + i;
  memset(all, -1, sizeof all);
  OK(MPI_Allgather(mine, 1, gappy, all, kItems, MPI_INT, comm));
  for (int i = 0; i < size * kItems; ++i) CHECK(all[i] == i / kItems * 100 + 2 * (i % kItems));
  line own = {(unsigned)rank + 2, (unsigned)rank * 3 + 1}, total = {0, 0}, wanted = {1, 0};
  for (int r = 0; r < size; ++r) {
    const line next = {(unsigned)r + 2, (unsigned)r * 3 + 1};
    wanted = (line){wanted.a * next.a, wanted.a * next.b + wanted.b};
  }
  OK(MPI_Allreduce(&own, &total, 1, pair, op, comm));
  CHECK(total.a == wanted.a && total.b == wanted.b);
  OK(MPI_Op_free(&op));
  OK(MPI_Type_free(&gappy));
  OK(MPI_Type_free(&pair));
}

static void at_once(MPI_Comm comm) {
  MPI_Request requests[2 * kAtOnce];
  long mine[kAtOnce], total[kAtOnce];
  for (int call = 0; call < kAtOnce; ++call) {
    mine[call] = part(rank, call);
    OK(MPI_Iallreduce(&mine[call], &total[call], 1, MPI_LONG, MPI_SUM, comm, &requests[2 * call]));
    OK(MPI_Ibarrier(comm, &requests[2 * call + 1]));
  }
  for (int i = 2 * kAtOnce - 1; i >= 0; --i) OK(MPI_Wait(&requests[i], MPI_STATUS_IGNORE));
  for (int call = 0; call < kAtOnce; ++call) CHECK(total[call] == sum(call));
}

/* Persistent calls may be started in any order; others progress beside them. */
static void persistent(MPI_Comm comm) {
  MPI_Request kept[kKept];
  long mine[kKept], total[kKept];
  for (int i = 0; i < kKept; ++i)
    OK(MPI_Allreduce_init(&mine[i], &total[i], 1, MPI_LONG, MPI_SUM, comm, MPI_INFO_NULL, &kept[i]));
  for (int call = 0; call < kRounds / 4; ++call) {
    for (int i = 0; i < kKept; ++i) mine[i] = part(rank, call * kKept + i);
    for (int i = 0; i < kKept; ++i) OK(MPI_Start(&kept[(i + rank + call) % kKept]));
    long other = part(rank, call), all = 0;
    OK(MPI_Allreduce(&other, &all, 1, MPI_LONG, MPI_SUM, comm));
    CHECK(all == sum(call));
    OK(MPI_Waitall(kKept, kept, MPI_STATUSES_IGNORE));
    for (int i = 0; i < kKept; ++i) CHECK(total[i] == sum(call * kKept + i));
  }
  for (int i = 0; i < kKept; ++i) OK(MPI_Request_free(&kept[i]));
}

static void short_lives(void) {
  for (int i = 0; i < 10; ++i) {
    MPI_Comm comm;
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    long mine = part(rank, i), total = 0;
    OK(MPI_Allreduce(&mine, &total, 1, MPI_LONG, MPI_SUM, comm));
    CHECK(total == sum(i));
    OK(MPI_Comm_free(&comm));
  }
}

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size > 64) return 1;
  blocking(MPI_COMM_WORLD);
  types(MPI_COMM_WORLD);
  for (int i = 0; i < 20; ++i) at_once(MPI_COMM_WORLD);
  persistent(MPI_COMM_WORLD);
  short_lives();
  return check_finalize();
}
