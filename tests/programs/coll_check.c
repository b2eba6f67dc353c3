/* SPDX-License-Identifier: BSD-3-Clause */
/* What could go wrong: with HERALD_CHECK=collectives, ranks whose calls do not match hang or go on with wrong
   data; the message does not name both calls; calls that match are refused; a call in another form is not
   checked. Without a case: errors are returned. With one: the call must end the job. */
#include "coll_data.h"

static int rank, size;

/* Rank 1 (or the last one, in a larger job) makes another call than the rest. */
static int odd(void) { return rank == size - 1; }

static void expect(int error, const char* first, const char* second) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0, class = MPI_SUCCESS;
  MPI_Error_class(error, &class);
  MPI_Error_string(error, text, &length);
  CHECK(class == MPI_ERR_OTHER);
  if (strstr(text, first) == NULL || strstr(text, second) == NULL) {
    fprintf(stderr, "rank %d: wanted '%s' and '%s' in: %s\n", rank, first, second, text);
    check_failures_++;
  }
}

static void neighbor_case(MPI_Comm comm) {
  int data[2] = {0}, out[2], error;
  const int periodic = 1;
  MPI_Request request;
  MPI_Comm ring;
  char last[100];
  OK(MPI_Cart_create(comm, 1, &size, &periodic, 0, &ring));
  if (odd() && size > 1) {
    OK(MPI_Ineighbor_allgather(data, 1, MPI_INT, out, 1, MPI_INT, ring, &request));
    error = MPI_Wait(&request, MPI_STATUS_IGNORE);
  } else {
    error = MPI_Neighbor_alltoall(data, 1, MPI_INT, out, 1, MPI_INT, ring);
  }
  OK(MPI_Comm_free(&ring));
  sprintf(last, "rank %d calls MPI_Ineighbor_allgather", size - 1);
  if (size > 1)
    expect(error, "rank 0 calls MPI_Neighbor_alltoall, ", last);
  else
    CHECK(error == MPI_SUCCESS);
}

/* Reductions of other elements, and a nonblocking and a blocking collective in another order. */
static void further_case(const char* name, MPI_Comm comm) {
  int data[4] = {0}, out[4], error;
  char wanted[2][100];
  MPI_Request request;
  const int other = size - 1;
  if (strcmp(name, "elements") == 0) {
    float real[4] = {0}, sum[4];
    error = odd() ? MPI_Allreduce(real, sum, 4, MPI_FLOAT, MPI_SUM, comm)
                  : MPI_Allreduce(data, out, 4, MPI_INT, MPI_SUM, comm);
    sprintf(wanted[0], "rank 0 calls MPI_Allreduce (16 bytes, integers of 4 bytes, MPI_SUM)");
    sprintf(wanted[1], "rank %d calls MPI_Allreduce (16 bytes, floating-point numbers of 4 bytes, MPI_SUM)",
            other);
  } else { /* a nonblocking and a blocking one, in another order */
    if (odd()) {
      error = MPI_Bcast(data, 1, MPI_INT, 0, comm);
      if (size == 1) OK(MPI_Barrier(comm));
    } else {
      OK(MPI_Ibarrier(comm, &request));
      error = MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    sprintf(wanted[0], "rank 0 calls MPI_Ibarrier");
    sprintf(wanted[1], "rank %d calls MPI_Bcast (root 0, 4 bytes)", other);
  }
  if (size > 1)
    expect(error, wanted[0], wanted[1]);
  else
    CHECK(error == MPI_SUCCESS);
}

static void call_case(const char* name, MPI_Comm comm) {
  int data[20] = {0}, out[20];
  char wanted[2][100];
  int error = MPI_SUCCESS;
  MPI_Request request;
  const int other = size - 1;
  if (strcmp(name, "root") == 0) {
    error = MPI_Bcast(data, 10, MPI_INT, odd() ? other : 0, comm);
    sprintf(wanted[0], "rank 0 calls MPI_Bcast (root 0, 40 bytes)");
    sprintf(wanted[1], "rank %d calls MPI_Bcast (root %d, 40 bytes)", other, other);
  } else if (strcmp(name, "bytes") == 0) {
    error = MPI_Allreduce(data, out, odd() ? 11 : 10, MPI_INT, MPI_SUM, comm);
    sprintf(wanted[0], "rank 0 calls MPI_Allreduce (40 bytes, integers of 4 bytes, MPI_SUM)");
    sprintf(wanted[1], "rank %d calls MPI_Allreduce (44 bytes, integers of 4 bytes, MPI_SUM)", other);
  } else if (strcmp(name, "items") == 0) {
    error = MPI_Allreduce(data, out, odd() ? 2 : 4, odd() ? MPI_DOUBLE : MPI_INT, MPI_SUM, comm);
    sprintf(wanted[0], "integers of 4 bytes");
    sprintf(wanted[1], "floating-point numbers of 8 bytes");
  } else if (strcmp(name, "reduction") == 0) {
    error = MPI_Reduce(data, out, 1, MPI_INT, odd() ? MPI_MAX : MPI_SUM, 0, comm);
    sprintf(wanted[0], "rank 0 calls MPI_Reduce (root 0, 4 bytes, integers of 4 bytes, MPI_SUM)");
    sprintf(wanted[1], "rank %d calls MPI_Reduce (root 0, 4 bytes, integers of 4 bytes, MPI_MAX)", other);
  } else if (strcmp(name, "order") == 0) {
    error = odd() ? MPI_Barrier(comm) : MPI_Bcast(data, 1, MPI_INT, 0, comm);
    sprintf(wanted[0], "rank 0 calls MPI_Bcast (root 0, 4 bytes)");
    sprintf(wanted[1], "rank %d calls MPI_Barrier", other);
  } else if (strcmp(name, "nonblocking") == 0) {
    OK(MPI_Iallgather(data, odd() ? 2 : 1, MPI_INT, malloc(sizeof(int) * 2 * (size_t)size), odd() ? 2 : 1,
                      MPI_INT, comm, &request));
    error = MPI_Wait(&request, MPI_STATUS_IGNORE);
    sprintf(wanted[0], "rank 0 calls MPI_Iallgather (4 bytes)");
    sprintf(wanted[1], "rank %d calls MPI_Iallgather (8 bytes)", other);
  } else if (strcmp(name, "forms") == 0) {
    if (odd()) {
      error = MPI_Ibarrier(comm, &request);
      if (error == MPI_SUCCESS) error = MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else {
      error = MPI_Barrier(comm);
    }
    sprintf(wanted[0], "rank 0 calls MPI_Barrier");
    sprintf(wanted[1], "rank %d calls MPI_Ibarrier", other);
  } else if (strcmp(name, "persistent") == 0) {
    error = MPI_Bcast_init(data, odd() ? 2 : 3, MPI_INT, 0, comm, MPI_INFO_NULL, &request);
    if (size == 1) OK(MPI_Request_free(&request));
    sprintf(wanted[0], "rank 0 calls MPI_Bcast_init (root 0, 12 bytes)");
    sprintf(wanted[1], "rank %d calls MPI_Bcast_init (root 0, 8 bytes)", other);
  } else if (strcmp(name, "init") == 0) {
    error = odd() ? MPI_Bcast_init(data, 3, MPI_INT, 0, comm, MPI_INFO_NULL, &request)
                  : MPI_Bcast(data, 3, MPI_INT, 0, comm);
    if (size == 1) OK(MPI_Request_free(&request));
    sprintf(wanted[0], "rank 0 calls MPI_Bcast (root 0, 12 bytes)");
    sprintf(wanted[1], "rank %d calls MPI_Bcast_init (root 0, 12 bytes)", other);
  } else if (strcmp(name, "refused") == 0) {
    error = MPI_Bcast(data, odd() ? -3 : 3, MPI_INT, 0, comm);
    if (odd()) {
      int class = MPI_SUCCESS;
      MPI_Error_class(error, &class);
      CHECK(class == MPI_ERR_COUNT);
      return;
    }
    sprintf(wanted[0], "rank 0 calls MPI_Bcast (root 0, 12 bytes)");
    sprintf(wanted[1], "rank %d makes a call (bcast, in one of its forms) that is refused", other);
  } else {
    CHECK(!"a case of that name");
  }
  if (size > 1)
    expect(error, wanted[0], wanted[1]);
  else
    CHECK(error == MPI_SUCCESS);
}

static void run_case(const char* name, MPI_Comm comm) {
  if (strcmp(name, "neighbor") == 0)
    neighbor_case(comm);
  else if (strcmp(name, "elements") == 0 || strcmp(name, "turned") == 0)
    further_case(name, comm);
  else
    call_case(name, comm);
}

int main(int argc, char** argv) {
  static const char* const cases[] = {"root",     "bytes",       "items",      "reduction",
                                      "order",    "nonblocking", "persistent", "init",
                                      "neighbor", "refused",     "elements",   "turned"};
  int i, op, form;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc > 1) {
    run_case(argv[1], MPI_COMM_WORLD);
  } else {
    /* Calls that match succeed, twice each: with a new plan and a cached one. */
    for (op = 0; op < COLLECTIVES; op++)
      for (form = BLOCKING; form <= PERSISTENT; form++)
        for (i = 0; i < 4; i++) {
          coll_t c = coll_new(op, 5 + i / 2 * 3000, (op + i) % size, i % 2, MPI_COMM_WORLD);
          coll_fill(&c, i);
          coll_call(&c, form);
          if (form == PERSISTENT) OK(MPI_Start(&c.request));
          if (form != BLOCKING) OK(MPI_Wait(&c.request, MPI_STATUS_IGNORE));
          if (form == PERSISTENT) OK(MPI_Request_free(&c.request));
          coll_check(&c);
          coll_free(&c);
        }
    for (i = 0; i < (int)(sizeof cases / sizeof *cases); i++) {
      MPI_Comm comm;
      OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
      OK(MPI_Comm_set_errhandler(comm, MPI_ERRORS_RETURN));
      run_case(cases[i], comm);
      OK(MPI_Comm_free(&comm));
    }
  }
  return check_finalize();
}
