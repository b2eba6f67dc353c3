/* SPDX-License-Identifier: BSD-3-Clause */
/* What could go wrong: a communicator on which the program never waits in a collective call (nonblocking and
   persistent ones only) uses messages although its ranks share memory; calls made while the ranks still agree
   on the segment are lost, overtake each other, or use counts, types and operations that the program has
   freed since; many communicators exhaust the shared memory. `coll_background die`: rank 1 kills itself
   while the others agree. */
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

enum { ROUNDS = 50, BURST = 40, COMMS = 60 };
static int rank, size;

/* Starts the counter. */
typedef struct Counter {
  MPI_T_pvar_session session;
  MPI_T_pvar_handle handle;
} Counter;

static Counter count_from_now(const char* name) {
  Counter counter;
  int index = -1, count = 0;
  OK(MPI_T_pvar_get_index(name, MPI_T_PVAR_CLASS_COUNTER, &index));
  OK(MPI_T_pvar_session_create(&counter.session));
  OK(MPI_T_pvar_handle_alloc(counter.session, index, NULL, &counter.handle, &count));
  OK(MPI_T_pvar_start(counter.session, counter.handle));
  return counter;
}

static int read_counter(Counter* counter) {
  unsigned long long value = 0;
  OK(MPI_T_pvar_read(counter->session, counter->handle, &value));
  OK(MPI_T_pvar_handle_free(counter->session, &counter->handle));
  OK(MPI_T_pvar_session_free(&counter->session));
  return (int)value;
}

static void wait_for(MPI_Request* request) { OK(MPI_Wait(request, MPI_STATUS_IGNORE)); }

static int sum_of_ranks(void) { return size * (size - 1) / 2; }

/* Six calls. */
static void one_round(MPI_Comm comm, int round) {
  int i, mine = rank + round, sum = -1, root = round % size, value = rank == root ? round : -1;
  int* all = malloc(sizeof(int) * (size_t)size);
  MPI_Request request;
  OK(MPI_Ibarrier(comm, &request));
  wait_for(&request);
  OK(MPI_Ibcast(&value, 1, MPI_INT, root, comm, &request));
  wait_for(&request);
  CHECK(value == round);
  OK(MPI_Iallreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm, &request));
  wait_for(&request);
  CHECK(sum == sum_of_ranks() + size * round);
  sum = -1;
  OK(MPI_Ireduce(&mine, &sum, 1, MPI_INT, MPI_SUM, root, comm, &request));
  wait_for(&request);
  CHECK(sum == (rank == root ? sum_of_ranks() + size * round : -1));
  memset(all, 0, sizeof(int) * (size_t)size);
  OK(MPI_Iallgather(&mine, 1, MPI_INT, all, 1, MPI_INT, comm, &request));
  wait_for(&request);
  for (i = 0; i < size; i++) CHECK(all[i] == i + round);
  memset(all, 0, sizeof(int) * (size_t)size);
  OK(MPI_Igather(&mine, 1, MPI_INT, all, 1, MPI_INT, root, comm, &request));
  wait_for(&request);
  for (i = 0; i < size; i++) CHECK(all[i] == (rank == root ? i + round : 0));
  free(all);
}

static void nonblocking_only(MPI_Comm comm) {
  Counter shared, messages;
  int round, used;
  one_round(comm, 0);
  shared = count_from_now("herald_collectives_shared");
  messages = count_from_now("herald_messages_sent");
  for (round = 0; round < ROUNDS; round++) one_round(comm, round);
  used = read_counter(&shared);
  CHECK(size == 1 || used == 6 * ROUNDS || getenv("HERALD_HOST") != NULL);
  used = read_counter(&messages);
  CHECK(used == 0 || getenv("HERALD_HOST") != NULL);
}

static void persistent_only(void) {
  MPI_Comm comm;
  MPI_Request requests[3];
  Counter shared;
  int round, mine = 0, sum = 0, value = 0, used;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  shared = count_from_now("herald_collectives_shared");
  OK(MPI_Allreduce_init(&mine, &sum, 1, MPI_INT, MPI_SUM, comm, MPI_INFO_NULL, &requests[0]));
  OK(MPI_Bcast_init(&value, 1, MPI_INT, size - 1, comm, MPI_INFO_NULL, &requests[1]));
  OK(MPI_Barrier_init(comm, MPI_INFO_NULL, &requests[2]));
  for (round = 0; round < ROUNDS; round++) {
    mine = rank * round;
    value = rank == size - 1 ? round : -1;
    OK(MPI_Startall(3, requests));
    OK(MPI_Waitall(3, requests, MPI_STATUSES_IGNORE));
    CHECK(sum == sum_of_ranks() * round);
    CHECK(value == round);
  }
  used = read_counter(&shared);
  CHECK(size == 1 || used == 3 * ROUNDS || getenv("HERALD_HOST") != NULL);
  for (round = 0; round < 3; round++) OK(MPI_Request_free(&requests[round]));
  OK(MPI_Comm_free(&comm));
}

/* An operation that does not commute: it returns its left operand. */
static void left(void* in, void* inout, int* count, MPI_Datatype* type) {
  (void)type;
  memcpy(inout, in, sizeof(int) * (size_t)*count);
}

/* The objects that the call names are freed at once, except the counts. */
static void exchange(MPI_Comm comm, int* out, int* in, int* counts, MPI_Request* request) {
  MPI_Datatype type, *types = malloc(sizeof(MPI_Datatype) * (size_t)size * 2);
  int i;
  OK(MPI_Type_vector(1, 2, 3, MPI_INT, &type));
  OK(MPI_Type_commit(&type));
  for (i = 0; i < size; i++) {
    counts[i] = 1;
    counts[size + i] = i * 2 * (int)sizeof(int);
    types[i] = types[size + i] = type;
    out[2 * i] = rank;
    out[2 * i + 1] = i;
  }
  OK(MPI_Ialltoallw(out, counts, counts + size, types, in, counts, counts + size, types + size, comm,
                    request));
  OK(MPI_Type_free(&type));
  free(types);
}

/* All of these start before any rank has waited for one; one rank is late. */
static void burst(int late) {
  MPI_Comm comm, twin;
  MPI_Op op;
  MPI_Request requests[2 * BURST + 3];
  int i, n = 0, sums[BURST], mine[BURST], values[BURST], last = 0, reduced = rank + 1;
  int *out = malloc(sizeof(int) * 2 * (size_t)size), *in = malloc(sizeof(int) * 2 * (size_t)size);
  int* counts = malloc(sizeof(int) * 2 * (size_t)size);
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  if (rank == late) usleep(20000);
  for (i = 0; i < BURST; i++) {
    mine[i] = rank * i;
    values[i] = rank == i % size ? i : -1;
    OK(MPI_Iallreduce(&mine[i], &sums[i], 1, MPI_INT, MPI_SUM, comm, &requests[n++]));
    OK(MPI_Ibcast(&values[i], 1, MPI_INT, i % size, comm, &requests[n++]));
    if (i == 3) exchange(comm, out, in, counts, &requests[n++]);
    if (i == 5) OK(MPI_Comm_idup(comm, &twin, &requests[n++]));
    if (i == 7) {
      OK(MPI_Op_create(left, 0, &op));
      OK(MPI_Iallreduce(MPI_IN_PLACE, &reduced, 1, MPI_INT, op, comm, &requests[n++]));
      OK(MPI_Op_free(&op));
    }
  }
  if (late % 2 == 0) { /* a blocking call behind them */
    OK(MPI_Allreduce(&rank, &last, 1, MPI_INT, MPI_MAX, comm));
    CHECK(last == size - 1);
  }
  OK(MPI_Comm_free(&comm));
  for (i = n - 1; i >= 0; i -= 2) wait_for(&requests[i]);
  OK(MPI_Waitall(n, requests, MPI_STATUSES_IGNORE));
  for (i = 0; i < BURST; i++) CHECK(sums[i] == sum_of_ranks() * i && values[i] == i);
  for (i = 0; i < size; i++) CHECK(in[2 * i] == i && in[2 * i + 1] == rank);
  CHECK(reduced == 1);
  one_round(twin, late);
  OK(MPI_Comm_free(&twin));
  free(out);
  free(in);
  free(counts);
}

/* More communicators than segments of full size. */
static void many(void) {
  MPI_Comm comms[COMMS];
  int i;
  for (i = 0; i < COMMS; i++) {
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]));
    one_round(comms[i], i);
  }
  for (i = 0; i < COMMS; i++) {
    one_round(comms[i], i);
    OK(MPI_Comm_free(&comms[i]));
  }
}

static void die(void) {
  int i, sum;
  MPI_Request requests[10];
  for (i = 0; i < 10; i++) {
    if (rank == 1 && i == 3) raise(SIGKILL);
    OK(MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &requests[i]));
  }
  OK(MPI_Waitall(10, requests, MPI_STATUSES_IGNORE));
}

int main(int argc, char** argv) {
  int provided;
  MPI_Comm comm;
  MPI_Init(&argc, &argv);
  OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc > 1 && strcmp(argv[1], "die") == 0) die();
  nonblocking_only(MPI_COMM_WORLD);
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  nonblocking_only(comm);
  OK(MPI_Comm_free(&comm));
  persistent_only();
  burst(0);
  burst(size - 1);
  many();
  OK(MPI_T_finalize());
  return check_finalize();
}
