/* SPDX-License-Identifier: BSD-3-Clause */
/* coll_prepare.c: hints before collectives and messages (MPIX_Plan_prepare). What could go wrong: a hint
   waits for other ranks, or is counted as a call, so that ranks with different hints do not match; a wrong
   hint changes a result, calls an error handler or makes memory grow; a hint for a freed communicator, or
   outside of MPI, crashes; a hint between two messages changes their order. */
#include <limits.h>
#include <malloc.h>
#include <mpix.h>
#include <pthread.h>
#include "check.h"

enum { kMost = 16, kCount = 500, kOperations = 17 };

static int rank, size, root;
static int in[kMost * kCount], out[kMost * kCount];
static int counts[kMost], places[kMost], byte_places[kMost];
static MPI_Datatype types[kMost];

/* `in_all`: a block for each rank; `out_all`: of the results. */
static int prepare(int operation, MPI_Comm comm, int count) {
  return MPIX_Plan_prepare(operation, comm, root, MPI_SUM, 0, count, counts,
                           operation == 10 ? byte_places : places, MPI_INT, types, count, counts,
                           operation == 10 ? byte_places : places, MPI_INT, types);
}

static int call(int operation, MPI_Comm comm, int n) {
  switch (operation) {
    case MPIX_PLAN_BARRIER: return MPI_Barrier(comm);
    case MPIX_PLAN_BCAST: return MPI_Bcast(rank == root ? in : out, n, MPI_INT, root, comm);
    case MPIX_PLAN_GATHER: return MPI_Gather(in, n, MPI_INT, out, n, MPI_INT, root, comm);
    case MPIX_PLAN_GATHERV: return MPI_Gatherv(in, n, MPI_INT, out, counts, places, MPI_INT, root, comm);
    case MPIX_PLAN_SCATTER: return MPI_Scatter(in, n, MPI_INT, out, n, MPI_INT, root, comm);
    case MPIX_PLAN_SCATTERV: return MPI_Scatterv(in, counts, places, MPI_INT, out, n, MPI_INT, root, comm);
    case MPIX_PLAN_ALLGATHER: return MPI_Allgather(in, n, MPI_INT, out, n, MPI_INT, comm);
    case MPIX_PLAN_ALLGATHERV: return MPI_Allgatherv(in, n, MPI_INT, out, counts, places, MPI_INT, comm);
    case MPIX_PLAN_ALLTOALL: return MPI_Alltoall(in, n, MPI_INT, out, n, MPI_INT, comm);
    case MPIX_PLAN_ALLTOALLV:
      return MPI_Alltoallv(in, counts, places, MPI_INT, out, counts, places, MPI_INT, comm);
    case MPIX_PLAN_ALLTOALLW:
      return MPI_Alltoallw(in, counts, byte_places, types, out, counts, byte_places, types, comm);
    case MPIX_PLAN_REDUCE: return MPI_Reduce(in, out, n, MPI_INT, MPI_SUM, root, comm);
    case MPIX_PLAN_ALLREDUCE: return MPI_Allreduce(in, out, n, MPI_INT, MPI_SUM, comm);
    case MPIX_PLAN_REDUCE_SCATTER: return MPI_Reduce_scatter(in, out, counts, MPI_INT, MPI_SUM, comm);
    case MPIX_PLAN_REDUCE_SCATTER_BLOCK: return MPI_Reduce_scatter_block(in, out, n, MPI_INT, MPI_SUM, comm);
    case MPIX_PLAN_SCAN: return MPI_Scan(in, out, n, MPI_INT, MPI_SUM, comm);
    default: return MPI_Exscan(in, out, n, MPI_INT, MPI_SUM, comm);
  }
}

/* Item `i` of block `block` of the input of a rank. */
static int item(int from, int block, int i) { return from * 1000 + block * 100 + i % 50; }

/* Item `i` of block `block` of this rank's result; -1: no rank writes it. */
static int wanted(int operation, int block, int i) {
  const int first = block == 0, below = rank * (rank - 1) / 2, all = size * (size - 1) / 2;
  switch (operation) {
    case MPIX_PLAN_BCAST: return first && rank != root ? item(root, 0, i) : -1;
    case MPIX_PLAN_GATHER:
    case MPIX_PLAN_GATHERV: return rank == root ? item(block, 0, i) : -1;
    case MPIX_PLAN_SCATTER:
    case MPIX_PLAN_SCATTERV: return first ? item(root, rank, i) : -1;
    case MPIX_PLAN_ALLGATHER:
    case MPIX_PLAN_ALLGATHERV: return item(block, 0, i);
    case MPIX_PLAN_ALLTOALL:
    case MPIX_PLAN_ALLTOALLV:
    case MPIX_PLAN_ALLTOALLW: return item(block, rank, i);
    case MPIX_PLAN_REDUCE: return first && rank == root ? all * 1000 + size * item(0, 0, i) : -1;
    case MPIX_PLAN_ALLREDUCE: return first ? all * 1000 + size * item(0, 0, i) : -1;
    case MPIX_PLAN_REDUCE_SCATTER:
    case MPIX_PLAN_REDUCE_SCATTER_BLOCK: return first ? all * 1000 + size * item(0, rank, i) : -1;
    case MPIX_PLAN_SCAN: return first ? (below + rank) * 1000 + (rank + 1) * item(0, 0, i) : -1;
    case MPIX_PLAN_EXSCAN: return first && rank > 0 ? below * 1000 + rank * item(0, 0, i) : -1;
    default: return -1;
  }
}

static void set_count(int n) {
  for (int i = 0; i < size; ++i) {
    counts[i] = n;
    places[i] = i * n;
    byte_places[i] = i * n * (int)sizeof(int);
    types[i] = MPI_INT;
    for (int k = 0; k < n; ++k) in[i * n + k] = item(rank, i, k);
  }
}

static void call_and_judge(int operation, MPI_Comm comm, int n) {
  int wrong = 0;
  memset(out, 0xff, sizeof out);
  OK(call(operation, comm, n));
  for (int i = 0; i < size * n; ++i) wrong += out[i] != wanted(operation, i / n, i % n);
  CHECK(wrong == 0);
}

static unsigned long long prepared_runs(void) {
  static MPI_T_pvar_session session;
  static MPI_T_pvar_handle handle;
  static int open, index, many;
  unsigned long long value = 0;
  if (!open++) {
    MPI_T_pvar_session_create(&session);
    OK(MPI_T_pvar_get_index("herald_collectives_prepared", MPI_T_PVAR_CLASS_COUNTER, &index));
    OK(MPI_T_pvar_handle_alloc(session, index, NULL, &handle, &many));
    MPI_T_pvar_start(session, handle);
  }
  MPI_T_pvar_read(session, handle, &value);
  return value;
}

/* Who hints: all ranks, some, with other counts than they call with, or again and again. */
static void each_operation(MPI_Comm comm) {
  for (int operation = 0; operation < kOperations; ++operation)
    for (int way = 0; way < 4; ++way) {
      const int n = way == 0 ? 1 : way == 1 ? kCount : 60 + operation;
      unsigned long long before;
      root = (operation + way) % size;
      set_count(n);
      if (way != 1 || rank % 2 == 0) OK(prepare(operation, comm, n));
      if (way == 2) set_count(kCount - rank), (void)prepare(operation, comm, 3 * rank), set_count(n);
      for (int i = 0; way == 3 && i < 20; ++i) OK(prepare(operation, comm, n));
      before = prepared_runs();
      for (int i = 0; i < 3; ++i) call_and_judge(operation, comm, n);
      if (way != 1 && size == 1) CHECK(prepared_runs() >= before + 3);
      OK(MPIX_Plan_release(operation, comm));
      OK(MPIX_Plan_release(operation, comm));
      before = prepared_runs();
      call_and_judge(operation, comm, n);
      CHECK(prepared_runs() == before);
    }
}

static int handled;
static void on_error(MPI_Comm* comm, int* code, ...) {
  (void)comm, (void)code;
  ++handled;
}

/* Arguments that are unknown, wrong or garbage: nothing happens. */
static void wrong_hints(MPI_Comm comm) {
  static const MPI_Count bad[] = {MPIX_PLAN_UNKNOWN, -1, LLONG_MAX, 1LL << 40, 7};
  MPI_Errhandler handler;
  MPI_Comm freed, null = MPI_COMM_NULL, garbage = (MPI_Comm)0x123456;
  MPI_Datatype type;
  MPI_Comm_create_errhandler(on_error, &handler);
  MPI_Comm_set_errhandler(comm, handler);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, handler);
  MPI_Comm_dup(comm, &freed);
  MPI_Comm copy = freed;
  OK(prepare(MPIX_PLAN_ALLREDUCE, freed, 10));
  MPI_Comm_free(&freed);
  MPI_Type_contiguous(3, MPI_INT, &type); /* not committed */
  for (int operation = -2; operation < kOperations + 2; ++operation) {
    CHECK(prepare(operation, copy, 10) != MPI_SUCCESS);
    CHECK(prepare(operation, null, 10) != MPI_SUCCESS);
    CHECK(prepare(operation, garbage, 10) != MPI_SUCCESS);
    CHECK(MPIX_Plan_release(operation, copy) != MPI_SUCCESS);
    for (unsigned i = 0; i < sizeof bad / sizeof bad[0]; ++i)
      for (int what = 0; what < 6; ++what)
        (void)MPIX_Plan_prepare(operation, comm, what == 0 ? (int)bad[i] : 0, what == 1 ? NULL : MPI_SUM,
                                what == 2 ? MPIX_PLAN_IN_PLACE : 0, bad[i], NULL, NULL,
                                what == 3   ? NULL
                                : what == 4 ? type
                                            : MPI_INT,
                                NULL, bad[i], NULL, NULL, what == 5 ? type : MPI_INT, NULL);
  }
  CHECK(handled == 0);
  MPI_Comm_set_errhandler(comm, MPI_ERRORS_ARE_FATAL);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
  MPI_Errhandler_free(&handler);
  MPI_Type_free(&type);
}

static int prepare_partner(int operation, MPI_Comm comm, int partner) {
  return MPIX_Plan_prepare(operation, comm, partner, NULL, 0, kCount, NULL, NULL, MPI_INT, NULL, kCount, NULL,
                           NULL, MPI_INT, NULL);
}

/* Messages that are sent before and after a hint arrive in order; all ranks may be partners, this one too. */
static void hints_between_messages(MPI_Comm comm) {
  enum { kMessages = 20 };
  MPI_Request requests[kMessages];
  for (int distance = 0; distance < size; ++distance) {
    const int to = (rank + distance) % size, from = (rank + size - distance) % size;
    for (int i = 0; i < kMessages; ++i) {
      if (i == 5 || i > 15) OK(prepare_partner(MPIX_PLAN_SEND, comm, to));
      if (i == 7) OK(prepare_partner(MPIX_PLAN_RECV, comm, from));
      in[i] = item(rank, distance, i);
      OK(MPI_Isend(in + i, 1, MPI_INT, to, 7, comm, requests + i));
    }
    for (int i = 0; i < kMessages; ++i) {
      out[i] = -1;
      OK(MPI_Recv(out + i, 1, MPI_INT, from, 7, comm, MPI_STATUS_IGNORE));
      CHECK(out[i] == item(from, distance, i));
    }
    OK(MPI_Waitall(kMessages, requests, MPI_STATUSES_IGNORE));
    OK(MPIX_Plan_release(MPIX_PLAN_SEND, comm));
    OK(MPIX_Plan_release(MPIX_PLAN_RECV, comm));
  }
  for (int operation = MPIX_PLAN_SEND; operation <= MPIX_PLAN_RECV; ++operation) {
    OK(prepare_partner(operation, comm, MPI_PROC_NULL));
    OK(prepare_partner(operation, comm, MPI_ANY_SOURCE));
    OK(prepare_partner(operation, comm, MPIX_PLAN_UNKNOWN));
    CHECK(prepare_partner(operation, comm, size) == MPI_ERR_RANK);
    CHECK(prepare_partner(operation, comm, INT_MAX) == MPI_ERR_RANK);
    for (int i = 0; i < 1000; ++i) OK(prepare_partner(operation, comm, i % size));
  }
}

/* Loops that are left without a release. */
static void bounded_memory(MPI_Comm comm) {
  size_t before = 0;
  for (int i = 0; i < 6000; ++i) {
    const int n = 1 + i % 3000;
    if (i == 3000) before = mallinfo2().uordblks;
    (void)MPIX_Plan_prepare(MPIX_PLAN_ALLREDUCE, comm, 0, MPI_SUM, 0, n, NULL, NULL, MPI_INT, NULL, n, NULL,
                            NULL, MPI_INT, NULL);
  }
  CHECK(mallinfo2().uordblks < before + (1u << 20));
  set_count(40);
  root = 0;
  call_and_judge(MPIX_PLAN_ALLREDUCE, comm, 40);
}

static void* hint_in_thread(void* comm) {
  for (int i = 0; i < 300; ++i) {
    (void)prepare(i % kOperations, *(MPI_Comm*)comm, 1 + i % 40);
    (void)MPIX_Plan_release(i % 5, *(MPI_Comm*)comm);
  }
  return NULL;
}

int main(int argc, char** argv) {
  int provided;
  pthread_t thread;
  MPI_Comm comm;
  if (prepare(MPIX_PLAN_BARRIER, MPI_COMM_WORLD, 0) == MPI_SUCCESS) return 1;
  MPI_Init_thread(&argc, &argv, MPI_THREAD_MULTIPLE, &provided);
  MPI_T_init_thread(MPI_THREAD_SINGLE, &provided);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size > kMost) MPI_Abort(MPI_COMM_WORLD, 1);
  set_count(1);
  if (rank == 0) OK(prepare(MPIX_PLAN_BARRIER, MPI_COMM_WORLD, 0)); /* the others are not needed for it */
  each_operation(MPI_COMM_WORLD);
  hints_between_messages(MPI_COMM_WORLD);
  MPI_Comm_dup(MPI_COMM_WORLD, &comm);
  if (rank != 0) OK(prepare(MPIX_PLAN_ALLTOALLV, comm, 1));
  each_operation(comm);
  wrong_hints(comm);
  hints_between_messages(comm);
  each_operation(comm);
  bounded_memory(comm);
  set_count(30);
  root = 0;
  pthread_create(&thread, NULL, hint_in_thread, &comm);
  for (int i = 0; i < 100; ++i) call_and_judge(i % kOperations, comm, 30);
  pthread_join(thread, NULL);
  MPI_Comm_free(&comm);
  provided = check_finalize();
  return prepare(MPIX_PLAN_BARRIER, MPI_COMM_WORLD, 0) == MPI_SUCCESS ? 1 : provided;
}
