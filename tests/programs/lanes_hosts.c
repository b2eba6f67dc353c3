/* SPDX-License-Identifier: BSD-3-Clause */
/* lanes_hosts SECONDS BYTES [COMMS [ROUNDS]]: casts of every rank, for switches that do not always forward
   multicast. There are at least ROUNDS rounds, until rank 0 has seen SECONDS pass, each on COMMS
   communicators. What could go wrong: a byte is wrong or a call does not end, also on a communicator that
   shares a group with others. Rank 0 prints "started" after the first round, and at the end the number of
   rounds and the sums of the MPI_T counters over all ranks: NAME=SUM. */
#include "check.h"

static int rank, size;

static void fill(unsigned char* at, int bytes, int seed) {
  for (int i = 0; i < bytes; ++i) at[i] = (unsigned char)(seed * 31 + i * 7 + i / 251);
}

static int wrong(const unsigned char* at, int bytes, int seed) {
  for (int i = 0; i < bytes; ++i)
    if (at[i] != (unsigned char)(seed * 31 + i * 7 + i / 251)) return 1;
  return 0;
}

static void one_round(MPI_Comm comm, int round, unsigned char* buffer, int bytes, int* all) {
  const int root = round % size, mine = rank + round;
  if (rank == root) fill(buffer, bytes, round);
  OK(MPI_Bcast(buffer, bytes, MPI_BYTE, root, comm));
  CHECK(!wrong(buffer, bytes, round));
  OK(MPI_Allgather(&mine, 1, MPI_INT, all, 1, MPI_INT, comm));
  for (int i = 0; i < size; ++i) CHECK(all[i] == i + round);
  OK(MPI_Barrier(comm));
}

static void tell_counters(MPI_T_pvar_session session, int count, MPI_T_pvar_handle* handles,
                          const char** names) {
  for (int i = 0; i < count; ++i) {
    unsigned long long value = 0, sum = 0;
    OK(MPI_T_pvar_read(session, handles[i], &value));
    OK(MPI_Reduce(&value, &sum, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, 0, MPI_COMM_WORLD));
    if (rank == 0) printf("%s=%llu\n", names[i] + sizeof "herald_" - 1, sum);
  }
}

int main(int argc, char** argv) {
  enum { kNames = 8, kMostComms = 64 };
  const char* names[kNames] = {"herald_casts",
                               "herald_casts_missed",
                               "herald_casts_unicast",
                               "herald_multicast_unheard",
                               "herald_multicast_heard_again",
                               "herald_multicast_foreign",
                               "herald_lanes_moved",
                               "herald_fused"};
  MPI_T_pvar_session session;
  MPI_T_pvar_handle handles[kNames];
  MPI_Comm comms[kMostComms];
  int provided, index, count, round = 0, go_on = 1;
  const double seconds = argc > 1 ? atof(argv[1]) : 1;
  const int bytes = argc > 2 ? atoi(argv[2]) : 100000;
  const int communicators = argc > 3 ? atoi(argv[3]) : 1;
  const int rounds = argc > 4 ? atoi(argv[4]) : 1;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK(communicators <= kMostComms);
  OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
  OK(MPI_T_pvar_session_create(&session));
  for (int i = 0; i < kNames; ++i) {
    OK(MPI_T_pvar_get_index(names[i], MPI_T_PVAR_CLASS_COUNTER, &index));
    OK(MPI_T_pvar_handle_alloc(session, index, NULL, &handles[i], &count));
    OK(MPI_T_pvar_start(session, handles[i]));
  }
  comms[0] = MPI_COMM_WORLD;
  for (int i = 1; i < communicators; ++i) OK(MPI_Comm_dup(MPI_COMM_WORLD, &comms[i]));
  unsigned char* buffer = malloc((size_t)bytes + 1);
  int* all = malloc(sizeof *all * (size_t)size);
  const double start = MPI_Wtime();
  while (go_on) {
    for (int i = 0; i < communicators; ++i) one_round(comms[i], round, buffer, bytes, all);
    go_on = (MPI_Wtime() - start < seconds || round + 1 < rounds) && check_failures_ == 0;
    OK(MPI_Bcast(&go_on, 1, MPI_INT, 0, MPI_COMM_WORLD));
    if (++round == 1 && rank == 0) printf("started\n"), fflush(stdout);
  }
  if (rank == 0) printf("%d rounds\n", round), fflush(stdout);
  tell_counters(session, kNames, handles, names);
  for (int i = 1; i < communicators; ++i) OK(MPI_Comm_free(&comms[i]));
  OK(MPI_T_pvar_session_free(&session));
  OK(MPI_T_finalize());
  free(buffer);
  free(all);
  return check_finalize();
}
