/* SPDX-License-Identifier: BSD-3-Clause */
/* What could go wrong: a wrong argument crashes, hangs or passes; the message does not name it; after a
   refused call the ranks count their collectives differently and the next one hangs; ranks that disagree on
   sizes hang instead of saying so; a call that was valid before is taken for valid again, although its
   buffers or its type have changed. */
#include "check.h"

static int rank, size;
static MPI_Comm comm;

static void arguments(void) {
  int in[8] = {0}, out[64] = {0}, *counts = calloc((size_t)size, sizeof(int)),
      *displs = calloc((size_t)size, sizeof(int));
  MPI_Datatype raw;
  MPI_Request request = MPI_REQUEST_NULL;
  OK(MPI_Type_contiguous(2, MPI_INT, &raw));
  CHECK_CLASS(MPI_Bcast(in, -1, MPI_INT, 0, comm), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Bcast(in, 1, MPI_DATATYPE_NULL, 0, comm), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_Bcast(in, 1, raw, 0, comm), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_Bcast(in, 1, MPI_INT, size, comm), MPI_ERR_ROOT);
  CHECK_CLASS(MPI_Bcast(in, 1, MPI_INT, -1, comm), MPI_ERR_ROOT);
  CHECK_CLASS(MPI_Bcast(NULL, 1, MPI_INT, 0, comm), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Bcast(MPI_IN_PLACE, 1, MPI_INT, 0, comm), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Bcast(in, 1, MPI_INT, 0, MPI_COMM_NULL), MPI_ERR_COMM);
  CHECK_CLASS(MPI_Allreduce(in, out, 1, MPI_INT, MPI_OP_NULL, comm), MPI_ERR_OP);
  CHECK_CLASS(MPI_Allreduce(in, out, 1, MPI_FLOAT, MPI_BXOR, comm), MPI_ERR_OP);
  CHECK_CLASS(MPI_Allreduce(in, out, 1, MPI_INT, MPI_MAXLOC, comm), MPI_ERR_OP);
  CHECK_CLASS(MPI_Allreduce(in, in, 1, MPI_INT, MPI_SUM, comm), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Allreduce(in, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, comm), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Allgather(in, 1, MPI_INT, NULL, 1, MPI_INT, comm), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Allgather(in, 1, MPI_INT, out, -3, MPI_INT, comm), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Alltoall(in, 0, MPI_INT, out, 0, MPI_DATATYPE_NULL, comm), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_Alltoallv(in, NULL, displs, MPI_INT, out, counts, displs, MPI_INT, comm), MPI_ERR_ARG);
  counts[size - 1] = -2;
  CHECK_CLASS(MPI_Alltoallv(in, counts, displs, MPI_INT, out, counts, displs, MPI_INT, comm), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Reduce_scatter(in, out, counts, MPI_INT, MPI_SUM, comm), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Iallreduce(in, out, -1, MPI_INT, MPI_SUM, comm, &request), MPI_ERR_COUNT);
  CHECK(request == MPI_REQUEST_NULL);
  CHECK_CLASS(MPI_Bcast_init(in, 1, raw, 0, comm, MPI_INFO_NULL, &request), MPI_ERR_TYPE);
  CHECK(request == MPI_REQUEST_NULL);
  CHECK_CLASS(MPI_Ibarrier(comm, NULL), MPI_ERR_ARG);
  if (size > 1 && rank == 1) { /* MPI_IN_PLACE at a rank that is not the root, seen by that rank only */
    char text[MPI_MAX_ERROR_STRING];
    int length, code = MPI_Gather(MPI_IN_PLACE, 1, MPI_INT, out, 1, MPI_INT, 0, MPI_COMM_SELF);
    CHECK(code == MPI_SUCCESS); /* there it is the root */
    code = MPI_Allreduce(in, out, 1, raw, MPI_SUM, comm);
    OK(MPI_Error_string(code, text, &length));
    CHECK(strstr(text, "datatype") != NULL && strstr(text, "MPI_Type_commit") != NULL);
  } else {
    CHECK_CLASS(MPI_Allreduce(in, out, 1, raw, MPI_SUM, comm), MPI_ERR_TYPE);
  }
  OK(MPI_Type_free(&raw));
  free(counts);
  free(displs);
}

/* One buffer for both sides is right if no piece is sent and received, and refused otherwise. */
static void shared_buffer(void) {
  const size_t n = (size_t)size;
  int i, *data = malloc(2 * n * sizeof(int)), *counts = calloc(n, sizeof(int)),
         *from = calloc(n, sizeof(int)), *to = calloc(n, sizeof(int));
  MPI_Datatype *types = malloc(n * sizeof(MPI_Datatype)), column;
  MPI_Request request;
  OK(MPI_Type_vector(2, 1, 2, MPI_INT, &column));
  OK(MPI_Type_commit(&column));
  for (i = 0; i < size; i++) types[i] = MPI_INT;
  OK(MPI_Alltoallv(data, counts, from, MPI_INT, data, counts, to, MPI_INT, comm));
  OK(MPI_Alltoallw(data, counts, from, types, data, counts, to, types, comm));
  OK(MPI_Ialltoallv(data, counts, from, MPI_INT, data, counts, to, MPI_INT, comm, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  for (i = 0; i < size; i++) {
    counts[i] = 1;
    from[i] = i;
    to[i] = size + i;
    data[i] = rank * 100 + i;
    data[size + i] = -1;
  }
  OK(MPI_Alltoallv(data, counts, from, MPI_INT, data, counts, to, MPI_INT, comm));
  for (i = 0; i < size; i++) CHECK(data[i] == rank * 100 + i && data[size + i] == i * 100 + rank);
  to[size - 1] = 0;
  CHECK_CLASS(MPI_Alltoallv(data, counts, from, MPI_INT, data, counts, to, MPI_INT, comm), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Alltoallv(data, counts, from, column, data, counts, from, column, comm), MPI_ERR_BUFFER);
  for (i = 0; i < size; i++) from[i] *= 4, to[i] = from[i] + 4 * size;
  OK(MPI_Alltoallw(data, counts, from, types, data, counts, to, types, comm));
  for (i = 0; i < size; i++) CHECK(data[size + i] == i * 100 + rank);
  to[0] = from[size - 1] + 3;
  CHECK_CLASS(MPI_Alltoallw(data, counts, from, types, data, counts, to, types, comm), MPI_ERR_BUFFER);
  OK(MPI_Type_free(&column));
  free(types), free(to), free(from), free(counts), free(data);
}

static void too_many_bytes(void) {
  MPI_Count* counts = calloc((size_t)size, sizeof(MPI_Count));
  int in[4] = {0}, out[4] = {0};
  counts[0] = ((MPI_Count)1 << 62) + 3;
  CHECK_CLASS(MPI_Reduce_scatter_c(in, out, counts, MPI_INT, MPI_SUM, comm), MPI_ERR_COUNT);
  counts[0] = counts[size - 1] = INT64_MAX; /* each fits 64 bits, their sum does not */
  if (size > 1) CHECK_CLASS(MPI_Reduce_scatter_c(in, out, counts, MPI_CHAR, MPI_SUM, comm), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Alltoall_c(in, INT64_MAX / 4, MPI_INT, out, INT64_MAX / 2, MPI_INT, comm), MPI_ERR_COUNT);
  free(counts);
}

static void still_in_step(void) {
  int one = 1, sum = 0;
  OK(MPI_Barrier(comm));
  OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, comm));
  CHECK(sum == size);
}

/* Only the root is wrong. The refused call does not count: a right one meets what the others called. */
static void wrong_at_the_root_only(void) {
  int mine = rank, *all = malloc(sizeof(int) * (size_t)size);
  if (rank == 0) {
    CHECK_CLASS(MPI_Gather(&mine, 1, MPI_INT, all, 1, MPI_DATATYPE_NULL, 0, comm), MPI_ERR_TYPE);
    OK(MPI_Gather(&mine, 1, MPI_INT, all, 1, MPI_INT, 0, comm));
    CHECK(all[size - 1] == size - 1);
  } else
    OK(MPI_Gather(&mine, 1, MPI_INT, NULL, -4, MPI_DATATYPE_NULL, 0, comm));
  still_in_step();
  free(all);
}

/* A rank that receives from the root gets an error; a rank behind one that truncated may not. */
#define CHECK_TRUNCATED(call)                                                                 \
  do {                                                                                        \
    int class_ = -1, code_ = (call);                                                          \
    MPI_Error_class(code_, &class_);                                                          \
    CHECK(class_ == MPI_ERR_TRUNCATE || ((rank & (rank - 1)) != 0 && class_ == MPI_SUCCESS)); \
  } while (0)

/* More is sent than there is room for. */
static void truncation(void) {
  int data[8] = {0}, *all = malloc(sizeof(int) * (size_t)size * 8);
  MPI_Request request;
  if (size == 1) {
    CHECK_CLASS(MPI_Allgather(data, 4, MPI_INT, all, 2, MPI_INT, comm), MPI_ERR_TRUNCATE);
    free(all);
    return;
  }
  if (rank == 0)
    OK(MPI_Bcast(data, 8, MPI_INT, 0, comm));
  else
    CHECK_TRUNCATED(MPI_Bcast(data, 5, MPI_INT, 0, comm));
  still_in_step();
  if (rank == 0) {
    CHECK_CLASS(MPI_Gather(data, 2, MPI_INT, all, 2, MPI_INT, 0, comm), MPI_ERR_TRUNCATE);
  } else {
    OK(MPI_Gather(data, 4, MPI_INT, NULL, 0, MPI_INT, 0, comm));
  }
  still_in_step();
  if (rank == 0)
    OK(MPI_Ibcast(data, 8, MPI_INT, 0, comm, &request));
  else
    OK(MPI_Ibcast(data, 5, MPI_INT, 0, comm, &request));
  if (rank == 0)
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  else
    CHECK_TRUNCATED(MPI_Wait(&request, MPI_STATUS_IGNORE));
  still_in_step();
  free(all);
}

/* The long-message algorithm of some ranks meets the short-message algorithm of others. */
static void long_meets_short(void) {
  enum { LONG = 300000, SHORT = 10 };
  int i, root, *data = malloc(LONG * sizeof(int));
  still_in_step();
  for (root = 0; root < size && root < 3; root++) {
    for (i = 0; i < LONG; i++) data[i] = rank == root ? i + root : -1;
    if (rank == root)
      OK(MPI_Bcast(data, LONG, MPI_INT, root, comm));
    else
      CHECK_TRUNCATED(MPI_Bcast(data, SHORT, MPI_INT, root, comm));
    for (i = 0; i < SHORT; i++) CHECK(data[i] == i + root);
    CHECK(rank == root || data[SHORT] == -1);
    still_in_step();
    OK(MPI_Bcast(data, rank == root ? SHORT : LONG, MPI_INT, root, comm));
    for (i = 0; i < SHORT; i++) CHECK(data[i] == i + root);
    still_in_step();
  }
  free(data);
}

/* Long broadcasts in flight at once, from several roots, completed in another order at each rank. */
static void long_ones_overlap(void) {
  enum { MANY = 5, LONG = 200000 };
  MPI_Request requests[MANY];
  int round, k, i, *data = malloc(MANY * LONG * sizeof(int));
  for (round = 0; round < 3; round++) {
    for (k = 0; k < MANY; k++) {
      const int root = (k / 2 + round) % size;
      for (i = 0; i < LONG; i++) data[k * LONG + i] = rank == root ? i * 7 + k + round : -1;
      OK(MPI_Ibcast(data + k * LONG, LONG, MPI_INT, root, comm, &requests[k]));
      if (rank == k % size) OK(MPI_Wait(&requests[k], MPI_STATUS_IGNORE));
    }
    for (k = 0; k < MANY; k++) OK(MPI_Wait(&requests[(k + rank) % MANY], MPI_STATUS_IGNORE));
    for (k = 0; k < MANY; k++)
      for (i = 0; i < LONG; i += 999) CHECK(data[k * LONG + i] == i * 7 + k + round);
  }
  free(data);
}

/* Cached calls: the same arguments again, until one of them becomes wrong. */
static void remembered(void) {
  int round, i, in[6] = {1, 2, 3, 4, 5, 6}, out[6];
  still_in_step();
  for (round = 0; round < 20; round++) {
    MPI_Datatype type;
    const int width = round % 3 + 1; /* types are freed and made at the same address */
    OK(MPI_Type_contiguous(width, MPI_INT, &type));
    CHECK_CLASS(MPI_Bcast(out, 2, type, 0, comm), MPI_ERR_TYPE);
    OK(MPI_Type_commit(&type));
    for (i = 0; i < 6; i++) out[i] = rank == 0 ? in[i] + round : -1;
    OK(MPI_Bcast(out, 2, type, 0, comm));
    for (i = 0; i < 6; i++) CHECK(out[i] == (i < 2 * width || rank == 0 ? in[i] + round : -1));
    OK(MPI_Bcast(out, 2, type, 0, comm));
    CHECK_CLASS(MPI_Bcast(NULL, 2, type, 0, comm), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Bcast(MPI_IN_PLACE, 2, type, 0, comm), MPI_ERR_BUFFER);
    OK(MPI_Type_free(&type));
    OK(MPI_Allreduce(in, out, 2, MPI_INT, round % 2 ? MPI_SUM : MPI_MAX, comm));
    CHECK(out[1] == (round % 2 ? 2 * size : 2));
    OK(MPI_Allreduce(MPI_IN_PLACE, out, 2, MPI_INT, MPI_MIN, comm));
    CHECK(out[1] == (round % 2 ? 2 * size : 2));
    CHECK_CLASS(MPI_Allreduce(in, in, 2, MPI_INT, MPI_SUM, comm), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Allreduce(in, MPI_IN_PLACE, 2, MPI_INT, MPI_SUM, comm), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Allreduce(NULL, out, 2, MPI_INT, MPI_SUM, comm), MPI_ERR_BUFFER);
    CHECK_CLASS(MPI_Allreduce(in, out, 2, MPI_INT, MPI_MAXLOC, comm), MPI_ERR_OP);
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
  OK(MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN));
  arguments();
  shared_buffer();
  too_many_bytes();
  still_in_step();
  wrong_at_the_root_only();
  truncation();
  remembered();
  long_meets_short();
  long_ones_overlap();
  OK(MPI_Comm_free(&comm));
  return check_finalize();
}
