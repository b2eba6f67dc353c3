/* SPDX-License-Identifier: BSD-3-Clause */
/* What could go wrong: any mixture of outstanding collectives on several communicators, in all forms,
   completed in any order and any way, takes each other's messages or blocks. The seed is printed;
   HERALD_SEED=<seed> replays it. */
#include <time.h>

#include "coll_data.h"

#define OUT 24
#define ROUNDS 20

static unsigned long long shared_state, own_state; /* the same at all ranks; another at each */
static unsigned draw(unsigned long long* state, unsigned below) {
  *state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
  return (unsigned)(*state >> 33) % below;
}

/* Completes all, each rank in its own way. */
static void finish(coll_t* c, int many) {
  MPI_Request requests[OUT];
  int i, left = many, flag, index;
  for (i = 0; i < many; i++) requests[i] = c[i].request;
  while (left > 0) {
    switch (draw(&own_state, 4)) {
      case 0:
        OK(MPI_Waitany(many, requests, &index, MPI_STATUS_IGNORE));
        if (index == MPI_UNDEFINED) left = 0;
        break;
      case 1: OK(MPI_Test(&requests[draw(&own_state, (unsigned)many)], &flag, MPI_STATUS_IGNORE)); break;
      case 2: OK(MPI_Testany(many, requests, &index, &flag, MPI_STATUS_IGNORE)); break;
      case 3:
        if (draw(&own_state, 8) != 0) break;
        OK(MPI_Waitall(many, requests, MPI_STATUSES_IGNORE));
        left = 0;
    }
  }
  for (i = 0; i < many; i++) c[i].request = requests[i];
}

static void one_round(MPI_Comm* comms, int round) {
  static const int counts[] = {0, 1, 3, 50, 1100, 5000};
  coll_t c[OUT], blocking;
  int forms[OUT], i, many = 1 + (int)draw(&shared_state, OUT);
  for (i = 0; i < many; i++) {
    MPI_Comm comm = comms[draw(&shared_state, 3)];
    int size, op = (int)draw(&shared_state, COLLECTIVES), count = counts[draw(&shared_state, 6)];
    int root = (int)draw(&shared_state, 1 << 20), in_place = (int)draw(&shared_state, 2);
    const int gappy = draw(&shared_state, 4) == 0, also_blocking = draw(&shared_state, 6) == 0;
    forms[i] = draw(&shared_state, 3) == 0 ? PERSISTENT : NONBLOCKING;
    MPI_Comm_size(comm, &size);
    c[i] = coll_new(op, count, root % size, in_place, comm);
    if (gappy) coll_gappy(&c[i]);
    coll_fill(&c[i], round + i);
    coll_call(&c[i], forms[i]);
    if (forms[i] == PERSISTENT) OK(MPI_Start(&c[i].request));
    if (!also_blocking) continue;
    blocking = coll_new((op + 1) % COLLECTIVES, 7, 0, in_place, comm);
    coll_fill(&blocking, i);
    coll_call(&blocking, BLOCKING);
    coll_check(&blocking);
    coll_free(&blocking);
  }
  finish(c, many);
  for (i = 0; i < many; i++) {
    coll_check(&c[i]);
    if (forms[i] == PERSISTENT) OK(MPI_Request_free(&c[i].request));
    CHECK(c[i].request == MPI_REQUEST_NULL);
    coll_free(&c[i]);
  }
}

int main(int argc, char** argv) {
  const char* given = getenv("HERALD_SEED");
  unsigned long long seed =
      given != NULL ? strtoull(given, NULL, 10) : (unsigned long long)time(NULL) * 1000003;
  MPI_Comm comms[3];
  int rank, i;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  OK(MPI_Bcast(&seed, 1, MPI_UNSIGNED_LONG_LONG, 0, MPI_COMM_WORLD));
  if (rank == 0) printf("HERALD_SEED=%llu replays this\n", seed);
  shared_state = seed;
  own_state = seed + 1 + (unsigned)rank;
  comms[0] = MPI_COMM_WORLD;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[1]));
  OK(MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comms[2])); /* the ranks in reverse */
  for (i = 0; i < ROUNDS; i++) one_round(comms, i);
  OK(MPI_Comm_free(&comms[1]));
  OK(MPI_Comm_free(&comms[2]));
  return check_finalize();
}
