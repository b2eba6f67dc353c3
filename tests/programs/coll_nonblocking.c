/* SPDX-License-Identifier: BSD-3-Clause */
/* What could go wrong: outstanding collectives on one communicator take each other's messages, or those of
   point-to-point traffic; ranks that wait in different orders block each other; a collective progresses
   only in the wait for itself. */
#include "coll_data.h"

#define OUT 40

static void many_outstanding(MPI_Comm comm, unsigned seed) {
  coll_t c[OUT];
  int i, rank, size, done, first;
  int token = -1, mine, partner;
  MPI_Request p2p[2];
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  srand(seed); /* the same sequence at every rank */
  mine = rank * 7;
  partner = size - 1 - rank;
  OK(MPI_Irecv(&token, 1, MPI_INT, partner, 5, comm, &p2p[0]));
  for (i = 0; i < OUT; i++) {
    static const int counts[] = {0, 1, 4, 100, 9000};
    const int op = rand() % COLLECTIVES, k = rand() % 5, root = rand() % size, in_place = rand() % 2;
    c[i] = coll_new(op, counts[k], root, in_place, comm);
    coll_fill(&c[i], i);
    coll_call(&c[i], NONBLOCKING);
    if (i == OUT / 2) OK(MPI_Isend(&mine, 1, MPI_INT, partner, 5, comm, &p2p[1]));
    if (i % 8 == 7) { /* a blocking call in between */
      coll_t b = coll_new(ALLREDUCE, 3, 0, 0, comm);
      coll_fill(&b, i);
      coll_call(&b, BLOCKING);
      coll_check(&b);
      coll_free(&b);
    }
  }
  OK(MPI_Waitall(2, p2p, MPI_STATUSES_IGNORE));
  CHECK(token == partner * 7);
  /* Each rank waits in another order and another way. */
  first = rank * 3 % OUT;
  if (rank % 3 == 0) {
    for (i = 0; i < OUT; i++) OK(MPI_Wait(&c[(first + i) % OUT].request, MPI_STATUS_IGNORE));
  } else {
    for (done = 0; done < OUT;) {
      for (done = 0, i = 0; i < OUT; i++) {
        int flag = 0;
        if (rank % 3 == 1) OK(MPI_Test(&c[i].request, &flag, MPI_STATUS_IGNORE));
        if (rank % 3 == 2) {
          OK(MPI_Wait(&c[OUT - 1 - i].request, MPI_STATUS_IGNORE));
          flag = 1;
        }
        done += flag;
      }
    }
  }
  for (i = 0; i < OUT; i++) {
    CHECK(c[i].request == MPI_REQUEST_NULL);
    coll_check(&c[i]);
    coll_free(&c[i]);
  }
}

/* A collective progresses in any call: rank 0 starts it and then only probes. */
static void progress_anywhere(void) {
  int rank, size, in = 1, out = 0, flag = 0, i;
  MPI_Request request;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  OK(MPI_Iallreduce(&in, &out, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request));
  if (rank == 0 && size > 1) {
    int got = 0;
    OK(MPI_Recv(&got, 1, MPI_INT, size - 1, 77, MPI_COMM_WORLD,
                MPI_STATUS_IGNORE)); /* sent after it completed there */
    CHECK(got == size);
    for (i = 0; !flag && i < 1000000; i++) OK(MPI_Test(&request, &flag, MPI_STATUS_IGNORE));
    CHECK(flag);
  } else {
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    if (rank == size - 1 && size > 1) OK(MPI_Send(&out, 1, MPI_INT, 0, 77, MPI_COMM_WORLD));
  }
  CHECK(out == size);
}

/* A type and an op that are freed while the call is in flight stay alive. */
static void add(void* in, void* inout, int* len, MPI_Datatype* type) {
  int i;
  (void)type;
  for (i = 0; i < *len; i++) ((int*)inout)[i] += ((int*)in)[i];
}
static void freed_meanwhile(void) {
  int rank, size, in[4], out[4];
  MPI_Datatype type;
  MPI_Op op;
  MPI_Request request;
  MPI_Comm comm;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  in[0] = in[1] = in[2] = in[3] = rank;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  OK(MPI_Type_dup(MPI_INT, &type));
  OK(MPI_Op_create(add, 1, &op));
  OK(MPI_Iallreduce(in, out, 4, type, op, comm, &request));
  OK(MPI_Type_free(&type));
  OK(MPI_Op_free(&op));
  OK(MPI_Comm_free(&comm));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  CHECK(out[3] == size * (size - 1) / 2);
}

int main(int argc, char** argv) {
  MPI_Comm dup;
  unsigned seed;
  MPI_Init(&argc, &argv);
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &dup));
  for (seed = 1; seed <= 6; seed++) many_outstanding(seed % 2 ? MPI_COMM_WORLD : dup, seed);
  progress_anywhere();
  freed_meanwhile();
  OK(MPI_Comm_free(&dup));
  return check_finalize();
}
