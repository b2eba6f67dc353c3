/* SPDX-License-Identifier: BSD-3-Clause */
/* What could go wrong: a collective over an inter-communicator delivers the data of the local group instead
   of the remote group's, or of its wrong ranks; the groups' sizes are mixed up where they differ; the root's
   group waits or touches its buffers though it has no part; a reduction is not in rank order; calls in flight
   at the same time match each other's messages; a refused call leaves the two groups out of step. */
#include "check.h"

enum { kLong = 3000, kMost = 16 };

static int rank, size, left; /* the world; how many of it are in the lower group */
static int mine, local, remote,
    away; /* the inter-communicator; the world's rank of the other group's first */
static MPI_Comm inter;
static int out[kMost * kLong], in[kMost * kLong];

/* Blocking, nonblocking, and persistent, twice. */
#define CALL(form, name, iname, ...)                                \
  do {                                                              \
    MPI_Request request_;                                           \
    if ((form) == 0) OK(MPI_##name(__VA_ARGS__));                   \
    if ((form) == 1) OK(MPI_##iname(__VA_ARGS__, &request_));       \
    if ((form) == 2) {                                              \
      OK(MPI_##name##_init(__VA_ARGS__, MPI_INFO_NULL, &request_)); \
      OK(MPI_Start(&request_));                                     \
      OK(MPI_Wait(&request_, MPI_STATUS_IGNORE));                   \
      OK(MPI_Start(&request_));                                     \
    }                                                               \
    if ((form) != 0) OK(MPI_Wait(&request_, MPI_STATUS_IGNORE));    \
    if ((form) == 2) OK(MPI_Request_free(&request_));               \
  } while (0)

static int value(int world, int item) { return world * 10000 + item; }

static void fill(int items) {
  int i;
  for (i = 0; i < items; i++) out[i] = value(rank, i);
  for (i = 0; i < kMost * kLong; i++) in[i] = -1;
}

static int holds(const int* data, int world, int first, int items) {
  int i, wrong = 0;
  for (i = 0; i < items; i++) wrong += data[i] != value(world, first + i);
  return wrong == 0;
}

static int untouched(int from) {
  int i, wrong = 0;
  for (i = from; i < kMost * kLong; i++) wrong += in[i] != -1;
  return wrong == 0;
}

static int sum_of_others(int item) {
  int i, sum = 0;
  for (i = 0; i < remote; i++) sum += value(away + i, item);
  return sum;
}

/* The root argument of this rank when rank `root` of the world is the root. */
static int as_root(int root) {
  if (root == rank) return MPI_ROOT;
  return (root < left) == (rank < left) ? MPI_PROC_NULL : root - away;
}

static void with_root(int form, int n, int root) {
  const int named = as_root(root);
  int i, counts[kMost], places[kMost];
  fill(kMost * kLong);
  if (named == MPI_PROC_NULL) { /* its other arguments mean nothing */
    CALL(form, Bcast, Ibcast, NULL, -1, MPI_DATATYPE_NULL, named, inter);
  } else if (named == MPI_ROOT) {
    CALL(form, Bcast, Ibcast, out, n, MPI_INT, named, inter);
  } else {
    CALL(form, Bcast, Ibcast, in, n, MPI_INT, named, inter);
    CHECK(holds(in, root, 0, n) && untouched(n));
  }

  fill(kMost * kLong);
  CALL(form, Gather, Igather, out, n, MPI_INT, in, n, MPI_INT, named, inter);
  for (i = 0; named == MPI_ROOT && i < remote; i++) CHECK(holds(in + i * n, away + i, 0, n));
  CHECK(untouched(named == MPI_ROOT ? remote * n : 0));

  /* Blocks of different lengths, backwards: rank i of the other group has i + 1 fewer. */
  for (i = 0; i < remote; i++) {
    counts[i] = n > i ? n - i - 1 : 0;
    places[i] = (remote - 1 - i) * n;
  }
  fill(kMost * kLong);
  CALL(form, Gatherv, Igatherv, out, n > mine ? n - mine - 1 : 0, MPI_INT, in, counts, places, MPI_INT, named,
       inter);
  for (i = 0; named == MPI_ROOT && i < remote; i++) CHECK(holds(in + places[i], away + i, 0, counts[i]));
  CHECK(untouched(named == MPI_ROOT ? remote * n : 0));

  fill(kMost * kLong);
  CALL(form, Scatter, Iscatter, out, n, MPI_INT, in, n, MPI_INT, named, inter);
  if (named >= 0) CHECK(holds(in, root, mine * n, n));
  CHECK(untouched(named >= 0 ? n : 0));

  fill(kMost * kLong);
  CALL(form, Scatterv, Iscatterv, out, counts, places, MPI_INT, in, n > mine ? n - mine - 1 : 0, MPI_INT,
       named, inter);
  if (named >= 0) CHECK(holds(in, root, (local - 1 - mine) * n, n > mine ? n - mine - 1 : 0));

  fill(kMost * kLong);
  CALL(form, Reduce, Ireduce, out, in, n, MPI_INT, MPI_SUM, named, inter);
  for (i = 0; named == MPI_ROOT && i < n; i++) CHECK(in[i] == sum_of_others(i));
  CHECK(untouched(named == MPI_ROOT ? n : 0));
}

static void without_root(int form, int n) {
  int i, counts[kMost], places[kMost];
  CALL(form, Barrier, Ibarrier, inter);

  fill(n);
  CALL(form, Allgather, Iallgather, out, n, MPI_INT, in, n, MPI_INT, inter);
  for (i = 0; i < remote; i++) CHECK(holds(in + i * n, away + i, 0, n));
  CHECK(untouched(remote * n));

  fill(n);
  for (i = 0; i < remote; i++) {
    counts[i] = n > i ? n - i - 1 : 0;
    places[i] = (remote - 1 - i) * n;
  }
  CALL(form, Allgatherv, Iallgatherv, out, n > mine ? n - mine - 1 : 0, MPI_INT, in, counts, places, MPI_INT,
       inter);
  for (i = 0; i < remote; i++) CHECK(holds(in + places[i], away + i, 0, counts[i]));

  fill(kMost * kLong);
  CALL(form, Alltoall, Ialltoall, out, n, MPI_INT, in, n, MPI_INT, inter);
  for (i = 0; i < remote; i++) CHECK(holds(in + i * n, away + i, mine * n, n));
  CHECK(untouched(remote * n));

  fill(n);
  CALL(form, Allreduce, Iallreduce, out, in, n, MPI_INT, MPI_SUM, inter);
  for (i = 0; i < n; i++) CHECK(in[i] == sum_of_others(i));
  CHECK(untouched(n));
}

/* From a to b of the world go (a + 2 b) % 4 items, in both directions of different lengths, and none too. */
static void different_counts(int form) {
  int i, from[kMost], to[kMost], here[kMost], there[kMost];
  MPI_Datatype types[kMost];
  for (i = 0; i < remote; i++) {
    to[i] = (rank + 2 * (away + i)) % 4;
    from[i] = (away + i + 2 * rank) % 4;
    here[i] = 4 * i;
    there[i] = 4 * (remote - 1 - i);
    types[i] = MPI_INT;
  }
  fill(4 * kMost);
  CALL(form, Alltoallv, Ialltoallv, out, to, here, MPI_INT, in, from, there, MPI_INT, inter);
  for (i = 0; i < remote; i++) CHECK(holds(in + there[i], away + i, 4 * mine, from[i]));
  for (i = 0; i < remote; i++) {
    here[i] *= (int)sizeof(int);
    there[i] *= (int)sizeof(int);
  }
  fill(4 * kMost);
  CALL(form, Alltoallw, Ialltoallw, out, to, here, types, in, from, there, types, inter);
  for (i = 0; i < remote; i++) CHECK(holds(in + there[i] / 4, away + i, 4 * mine, from[i]));
}

/* Both groups have local * remote * n items; each divides the other's sums among its own. */
static void divided(int form, int n) {
  const int each = remote * n;
  int i, first = mine * each, counts[kMost];
  if (local * each > kMost * kLong) return;
  fill(local * each);
  CALL(form, Reduce_scatter_block, Ireduce_scatter_block, out, in, each, MPI_INT, MPI_SUM, inter);
  for (i = 0; i < each; i++) CHECK(in[i] == sum_of_others(first + i));
  CHECK(untouched(each));
  for (i = 0; i < local; i++) counts[i] = each;
  if (local > 1) { /* the first rank gets nothing */
    counts[0] = 0;
    counts[local - 1] += each;
  }
  for (i = 0, first = 0; i < mine; i++) first += counts[i];
  fill(local * each);
  CALL(form, Reduce_scatter, Ireduce_scatter, out, in, counts, MPI_INT, MPI_SUM, inter);
  for (i = 0; i < counts[mine]; i++) CHECK(in[i] == sum_of_others(first + i));
  CHECK(untouched(counts[mine]));
}

/* A row of ranks: joins only with the row that follows it. */
static void join(void* a, void* b, int* count, MPI_Datatype* type) {
  int i, *one = a, *two = b;
  (void)type;
  for (i = 0; i < *count; i++) {
    const int fits = one[2 * i + 1] + 1 == two[2 * i];
    two[2 * i] = fits ? one[2 * i] : -1000;
  }
}

static void in_order(int form, int n) {
  MPI_Datatype row;
  MPI_Op op;
  int i;
  MPI_Type_contiguous(2, MPI_INT, &row);
  MPI_Type_commit(&row);
  MPI_Op_create(join, 0, &op);
  fill(0);
  for (i = 0; i < 2 * n; i++) out[i] = rank;
  CALL(form, Allreduce, Iallreduce, out, in, n, row, op, inter);
  for (i = 0; i < n; i++) CHECK(in[2 * i] == away && in[2 * i + 1] == away + remote - 1);
  MPI_Op_free(&op);
  MPI_Type_free(&row);
}

/* Several at once, on a communicator that is freed meanwhile. */
static void together(void) {
  enum { kCalls = 8 };
  MPI_Request requests[2 * kCalls + 1];
  MPI_Comm copy;
  int i, sent[kCalls], sums[kCalls], roots[kCalls];
  OK(MPI_Comm_dup(inter, &copy));
  for (i = 0; i < kCalls; i++) {
    const int named = as_root(i % size);
    sent[i] = value(rank, i);
    roots[i] = named == MPI_ROOT ? value(rank, 100 + i) : -1;
    OK(MPI_Iallreduce(&sent[i], &sums[i], 1, MPI_INT, MPI_SUM, copy, &requests[2 * i]));
    OK(MPI_Ibcast(&roots[i], 1, MPI_INT, named, copy, &requests[2 * i + 1]));
  }
  OK(MPI_Ibarrier(copy, &requests[2 * kCalls]));
  OK(MPI_Comm_free(&copy));
  OK(MPI_Waitall(2 * kCalls + 1, requests, MPI_STATUSES_IGNORE));
  for (i = 0; i < kCalls; i++) {
    CHECK(sums[i] == sum_of_others(i));
    if (as_root(i % size) >= 0) CHECK(roots[i] == value(i % size, 100 + i));
  }
}

static void refused(void) {
  int one = 1, all[kMost];
  MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
  CHECK_CLASS(MPI_Scan(&one, all, 1, MPI_INT, MPI_SUM, inter), MPI_ERR_COMM);
  CHECK_CLASS(MPI_Exscan(&one, all, 1, MPI_INT, MPI_SUM, inter), MPI_ERR_COMM);
  CHECK_CLASS(MPI_Allreduce(MPI_IN_PLACE, all, 1, MPI_INT, MPI_SUM, inter), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Allgather(MPI_IN_PLACE, 1, MPI_INT, all, 1, MPI_INT, inter), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Bcast(&one, 1, MPI_INT, remote, inter), MPI_ERR_ROOT);
  CHECK_CLASS(MPI_Bcast(&one, -1, MPI_INT, MPI_ROOT, inter), MPI_ERR_COUNT);
}

int main(int argc, char** argv) {
  int form;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (left = 1; left < size; left = left < size - 1 && 2 * left >= size ? size - 1 : 2 * left) {
    MPI_Comm half;
    OK(MPI_Comm_split(MPI_COMM_WORLD, rank < left, rank, &half));
    OK(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, rank < left ? left : 0, 5, &inter));
    MPI_Comm_rank(inter, &mine);
    MPI_Comm_size(inter, &local);
    MPI_Comm_remote_size(inter, &remote);
    away = rank < left ? left : 0;
    refused();
    for (form = 0; form < 3; form++) {
      const int lengths[] = {3, 0, kLong};
      int i;
      for (i = 0; i < 3; i++) {
        with_root(form, lengths[i], 0);
        with_root(form, lengths[i], size - 1);
        without_root(form, lengths[i]);
        in_order(form, lengths[i] / 2);
      }
      with_root(form, 5, left - 1);
      different_counts(form);
      divided(form, 1);
      divided(form, 40);
    }
    together();
    OK(MPI_Comm_free(&inter));
    OK(MPI_Comm_free(&half));
  }
  return check_finalize();
}
