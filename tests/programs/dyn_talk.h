/* SPDX-License-Identifier: BSD-3-Clause */
/* dyn_talk.h: what two groups do over an inter-communicator: messages, collectives, a merge, one-sided
   communication. Both groups call talk(); `first` differs between them. With DYN_CASTS=1 broadcasts of the
   merged group must use multicast. */
#ifndef HERALD_TESTS_DYN_TALK_H
#define HERALD_TESTS_DYN_TALK_H
#include "check.h"

enum { kLong = 300000 };

static void talk_messages(MPI_Comm inter) {
  int rank, remote, i;
  MPI_Comm_rank(inter, &rank);
  MPI_Comm_remote_size(inter, &remote);
  int* out = malloc(kLong * sizeof *out);
  int* in = malloc(kLong * sizeof *in);
  for (int count = 1; count <= kLong; count = count == 1 ? 2000 : count == 2000 ? kLong : kLong + 1) {
    for (i = 0; i < count; i++) out[i] = rank * 7 + i;
    for (int peer = 0; peer < remote; peer++) {
      MPI_Request request;
      MPI_Status status;
      OK(MPI_Isend(out, count, MPI_INT, peer, count % 1000, inter, &request));
      memset(in, 0, (size_t)count * sizeof *in);
      OK(MPI_Recv(in, count, MPI_INT, peer, count % 1000, inter, &status));
      CHECK(status.MPI_SOURCE == peer);
      CHECK(in[0] == peer * 7 && in[count - 1] == peer * 7 + count - 1);
      OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    }
  }
  free(out);
  free(in);
}

static void talk_collectives(MPI_Comm inter, int first) {
  int rank, size, remote, i, sum = -1, value = first ? 4711 : -1;
  int all[64];
  MPI_Comm_rank(inter, &rank);
  MPI_Comm_size(inter, &size);
  MPI_Comm_remote_size(inter, &remote);
  OK(MPI_Barrier(inter));
  int one = rank + 1;
  OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, inter));
  CHECK(sum == remote * (remote + 1) / 2);
  OK(MPI_Bcast(&value, 1, MPI_INT, first ? rank == 0 ? MPI_ROOT : MPI_PROC_NULL : 0, inter));
  CHECK(value == 4711);
  if (remote <= 64) {
    OK(MPI_Allgather(&one, 1, MPI_INT, all, 1, MPI_INT, inter));
    for (i = 0; i < remote; i++) CHECK(all[i] == i + 1);
  }
  MPI_Comm copy;
  OK(MPI_Comm_dup(inter, &copy));
  OK(MPI_Barrier(copy));
  OK(MPI_Comm_free(&copy));
}

static void check_broadcasts(MPI_Comm all) {
  enum { kCount = 100000 };
  unsigned char* bytes = malloc(kCount);
  int rank, size;
  MPI_Comm_rank(all, &rank);
  MPI_Comm_size(all, &size);
  for (int root = 0; root < size; root++) {
    for (int i = 0; i < kCount; i++) bytes[i] = (unsigned char)(rank == root ? i * 7 + root : 0);
    OK(MPI_Bcast(bytes, kCount, MPI_BYTE, root, all));
    for (int i = 0; i < kCount; i += 501) CHECK(bytes[i] == (unsigned char)(i * 7 + root));
  }
  free(bytes);
}

static void talk_broadcasts(MPI_Comm all) {
  const char* const must_cast = getenv("DYN_CASTS");
  MPI_T_pvar_session session;
  MPI_T_pvar_handle casts;
  unsigned long long value = 0, sum = 0;
  int provided, index, count;
  OK(MPI_T_init_thread(MPI_THREAD_SINGLE, &provided));
  OK(MPI_T_pvar_session_create(&session));
  OK(MPI_T_pvar_get_index("herald_casts", MPI_T_PVAR_CLASS_COUNTER, &index));
  OK(MPI_T_pvar_handle_alloc(session, index, NULL, &casts, &count));
  OK(MPI_T_pvar_start(session, casts));
  check_broadcasts(all);
  OK(MPI_T_pvar_read(session, casts, &value));
  OK(MPI_T_pvar_session_free(&session));
  OK(MPI_T_finalize());
  OK(MPI_Allreduce(&value, &sum, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, all));
  if (must_cast != NULL && *must_cast == '1') CHECK(sum > 0);
}

static void talk_window(MPI_Comm all) {
  int rank, size, i, *memory;
  MPI_Win win;
  MPI_Comm_rank(all, &rank);
  MPI_Comm_size(all, &size);
  OK(MPI_Win_allocate((MPI_Aint)(size * (int)sizeof(int)), sizeof(int), MPI_INFO_NULL, all, &memory, &win));
  for (i = 0; i < size; i++) memory[i] = -1;
  OK(MPI_Win_fence(0, win));
  for (i = 0; i < size; i++) OK(MPI_Put(&rank, 1, MPI_INT, i, rank, 1, MPI_INT, win));
  OK(MPI_Win_fence(0, win));
  for (i = 0; i < size; i++) CHECK(memory[i] == i);
  OK(MPI_Win_free(&win));
}

/* Often enough that ranks of a host agree on shared memory for it. */
static void talk_often(MPI_Comm all) {
  int rank, size, sum;
  MPI_Request request;
  MPI_Comm_rank(all, &rank);
  MPI_Comm_size(all, &size);
  for (int i = 0; i < 30; i++) {
    int one = rank + i, sent = i;
    OK(MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, all));
    CHECK(sum == size * (size - 1) / 2 + size * i);
    OK(MPI_Bcast(&sent, 1, MPI_INT, i % size, all));
  }
  OK(MPI_Allreduce_init(&rank, &sum, 1, MPI_INT, MPI_SUM, all, MPI_INFO_NULL, &request));
  for (int i = 0; i < 3; i++) {
    OK(MPI_Start(&request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(sum == size * (size - 1) / 2);
  }
  OK(MPI_Request_free(&request));
}

/* Ranks of both jobs on one host share memory: also where the jobs number their hosts differently. */
static void talk_shared(MPI_Comm all) {
  int rank, size, unit, *own, *first;
  MPI_Comm host;
  MPI_Win win;
  MPI_Aint bytes;
  OK(MPI_Comm_split_type(all, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host));
  MPI_Comm_rank(host, &rank);
  MPI_Comm_size(host, &size);
  OK(MPI_Win_allocate_shared(sizeof *own, sizeof *own, MPI_INFO_NULL, host, &own, &win));
  OK(MPI_Win_shared_query(win, 0, &bytes, &unit, &first));
  OK(MPI_Win_fence(0, win));
  *own = 100 + rank;
  OK(MPI_Win_fence(0, win));
  for (int i = 0; i < size; i++) CHECK(first[i] == 100 + i);
  OK(MPI_Win_free(&win));
  talk_often(host);
  check_broadcasts(host);
  OK(MPI_Comm_free(&host));
}

/* All ranks agree where each is, although each job numbers hosts by itself. */
static void talk_topology(MPI_Comm all) {
  int size, rank, old, left, right, dims[1] = {0}, periods[1] = {1}, in[2] = {-1, -1};
  int seen[64] = {0}, places[64];
  MPI_Comm ring;
  MPI_Comm_size(all, &size);
  MPI_Comm_rank(all, &old);
  dims[0] = size;
  OK(MPI_Cart_create(all, 1, dims, periods, 1, &ring));
  OK(MPI_Comm_rank(ring, &rank));
  OK(MPI_Allgather(&rank, 1, MPI_INT, places, 1, MPI_INT, all));
  for (int i = 0; i < size && size <= 64; i++)
    CHECK(places[i] >= 0 && places[i] < size && seen[places[i]]++ == 0);
  OK(MPI_Cart_shift(ring, 0, 1, &left, &right));
  OK(MPI_Neighbor_allgather(&rank, 1, MPI_INT, in, 1, MPI_INT, ring));
  CHECK(in[0] == left && in[1] == right);
  OK(MPI_Comm_free(&ring));
}

static void talk_merged(MPI_Comm all) {
  int rank, size, i, sum = 0;
  MPI_Comm_rank(all, &rank);
  MPI_Comm_size(all, &size);
  OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, all));
  CHECK(sum == size * (size - 1) / 2);
  const int count = 20000;
  double* numbers = malloc(count * sizeof *numbers);
  for (int root = 0; root < size; root++) {
    for (i = 0; i < count; i++) numbers[i] = rank == root ? root + i : -1;
    OK(MPI_Bcast(numbers, count, MPI_DOUBLE, root, all));
    CHECK(numbers[0] == root && numbers[count - 1] == root + count - 1);
  }
  free(numbers);
  int* out = malloc((size_t)size * sizeof *out);
  int* in = malloc((size_t)size * sizeof *in);
  for (i = 0; i < size; i++) out[i] = rank * 1000 + i;
  OK(MPI_Alltoall(out, 1, MPI_INT, in, 1, MPI_INT, all));
  for (i = 0; i < size; i++) CHECK(in[i] == i * 1000 + rank);
  free(out);
  free(in);
  MPI_Comm half;
  OK(MPI_Comm_split(all, rank % 2, 0, &half));
  OK(MPI_Barrier(half));
  OK(MPI_Comm_free(&half));
  MPI_Group group;
  MPI_Comm again;
  OK(MPI_Comm_group(all, &group));
  OK(MPI_Comm_create_group(all, group, 5, &again));
  OK(MPI_Barrier(again));
  OK(MPI_Comm_free(&again));
  OK(MPI_Group_free(&group));
  talk_often(all);
  talk_broadcasts(all);
  talk_window(all);
  talk_shared(all);
  talk_topology(all);
}

static void talk(MPI_Comm inter, int first) {
  MPI_Comm all;
  talk_messages(inter);
  talk_collectives(inter, first);
  OK(MPI_Intercomm_merge(inter, !first, &all));
  talk_merged(all);
  OK(MPI_Comm_free(&all));
}
#endif
