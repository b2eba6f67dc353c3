/* SPDX-License-Identifier: BSD-3-Clause */
/* What could go wrong: the two groups of an inter-communicator disagree on their members; messages go to a
   rank of the local group, or match those of another communicator; communicators made from it (duplicates,
   parts, merged ones) have the wrong members or order; a leader's mistake leaves the others waiting. */
#include "check.h"

static int rank, size;

/* The lower ranks of the world on the left, `left` of them; leaders are the last of each half. */
static MPI_Comm make(int left, MPI_Comm* half) {
  MPI_Comm inter = MPI_COMM_NULL;
  const int on_left = rank < left;
  int leader;
  OK(MPI_Comm_split(MPI_COMM_WORLD, on_left, rank, half));
  MPI_Comm_size(*half, &leader);
  leader--;
  OK(MPI_Intercomm_create(*half, leader, MPI_COMM_WORLD, on_left ? size - 1 : left - 1, 77, &inter));
  return inter;
}

static void check_shape(MPI_Comm inter, int left) {
  int flag = 0, mine = -1, local = -1, remote = -1, i, n;
  MPI_Group group, world;
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  OK(MPI_Comm_test_inter(inter, &flag));
  OK(MPI_Comm_rank(inter, &mine));
  OK(MPI_Comm_size(inter, &local));
  OK(MPI_Comm_remote_size(inter, &remote));
  CHECK(flag == 1 && mine == (rank < left ? rank : rank - left));
  CHECK(local == (rank < left ? left : size - left) && remote == size - local);
  OK(MPI_Comm_remote_group(inter, &group));
  MPI_Group_size(group, &n);
  CHECK(n == remote);
  for (i = 0; i < n; i++) {
    int there = -1;
    MPI_Group_translate_ranks(group, 1, &i, world, &there);
    CHECK(there == (rank < left ? left + i : i));
  }
  MPI_Group_free(&group);
  MPI_Group_free(&world);
}

/* Every rank sends to every rank of the remote group; the data names the sender. Also by any source and
 * probe. */
static void talk(MPI_Comm inter, int tag) {
  int remote, mine, i, got[64], sent[64], seen = 0;
  MPI_Request requests[64];
  MPI_Status status;
  MPI_Comm_remote_size(inter, &remote);
  MPI_Comm_rank(inter, &mine);
  for (i = 0; i < remote; i++) {
    sent[i] = mine * 1000 + i;
    OK(MPI_Isend(&sent[i], 1, MPI_INT, i, tag, inter, &requests[i]));
  }
  for (i = 0; i < remote; i++) {
    if (i % 2 == 0) OK(MPI_Probe(MPI_ANY_SOURCE, tag, inter, &status));
    OK(MPI_Recv(&got[i], 1, MPI_INT, MPI_ANY_SOURCE, tag, inter, &status));
    CHECK(status.MPI_SOURCE >= 0 && status.MPI_SOURCE < remote);
    CHECK(got[i] == status.MPI_SOURCE * 1000 + mine);
    seen += status.MPI_SOURCE;
  }
  CHECK(seen == remote * (remote - 1) / 2);
  OK(MPI_Waitall(remote, requests, MPI_STATUSES_IGNORE));
}

static void check_merge(MPI_Comm inter, int left, int high_left, int high_right) {
  const int on_left = rank < left, mine = on_left ? high_left : high_right;
  MPI_Comm merged = MPI_COMM_NULL;
  int flag = -1, n = -1, at = -1, sum = -1;
  OK(MPI_Intercomm_merge(inter, mine, &merged));
  OK(MPI_Comm_test_inter(merged, &flag));
  MPI_Comm_size(merged, &n);
  MPI_Comm_rank(merged, &at);
  CHECK(flag == 0 && n == size);
  if (high_left < high_right) CHECK(at == rank);
  if (high_left > high_right) CHECK(at == (on_left ? rank + size - left : rank - left));
  OK(MPI_Allreduce(&at, &sum, 1, MPI_INT, MPI_SUM, merged));
  CHECK(sum == size * (size - 1) / 2);
  MPI_Comm_free(&merged);
}

static void check_children(MPI_Comm inter, int left) {
  MPI_Comm copies[3], part = MPI_COMM_NULL;
  MPI_Request request;
  MPI_Group group;
  int i, result = -1, local, remote, mine, first = 0;
  MPI_Comm_size(inter, &local);
  MPI_Comm_remote_size(inter, &remote);
  MPI_Comm_rank(inter, &mine);
  OK(MPI_Comm_dup(inter, &copies[0]));
  OK(MPI_Comm_idup(inter, &copies[1], &request));
  OK(MPI_Comm_dup(copies[0], &copies[2]));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  for (i = 0; i < 3; i++) {
    OK(MPI_Comm_compare(inter, copies[i], &result));
    CHECK(result == MPI_CONGRUENT);
    check_shape(copies[i], left);
    talk(copies[i], 5);
  }
  OK(MPI_Comm_compare(inter, MPI_COMM_WORLD, &result));
  CHECK(result == MPI_UNEQUAL);
  for (i = 0; i < 3; i++) OK(MPI_Comm_free(&copies[i]));

  /* The even ones of both groups, backwards; the odd ones are there only if both groups have some. */
  OK(MPI_Comm_split(inter, mine % 2, -mine, &part));
  if (mine % 2 == 0 || (local > 1 && remote > 1)) {
    int n = -1, far = -1, at = -1;
    MPI_Comm_size(part, &n);
    MPI_Comm_remote_size(part, &far);
    MPI_Comm_rank(part, &at);
    CHECK(n == (local + 1 - mine % 2) / 2 && far == (remote + 1 - mine % 2) / 2 && at == n - 1 - mine / 2);
    talk(part, 6);
    OK(MPI_Comm_free(&part));
  } else {
    CHECK(part == MPI_COMM_NULL);
  }

  /* The first of each group. */
  MPI_Comm_group(inter, &group);
  MPI_Group firsts;
  MPI_Group_incl(group, 1, &first, &firsts);
  OK(MPI_Comm_create(inter, firsts, &part));
  CHECK((part != MPI_COMM_NULL) == (mine == 0));
  if (part != MPI_COMM_NULL) {
    talk(part, 7);
    OK(MPI_Comm_disconnect(&part));
  }
  /* An empty group on one side: no rank gets a communicator. */
  OK(MPI_Comm_create(inter, rank < left ? MPI_GROUP_EMPTY : firsts, &part));
  CHECK(part == MPI_COMM_NULL);
  MPI_Group_free(&firsts);
  MPI_Group_free(&group);
}

static void check_split_type(MPI_Comm inter, int left) {
  MPI_Comm part = MPI_COMM_NULL;
  int local, remote, mine, on_host = 0;
  MPI_Comm_size(inter, &local);
  MPI_Comm_remote_size(inter, &remote);
  MPI_Comm_rank(inter, &mine);
  /* On one host all take part, backwards; then no member of the other group does. */
  OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &part));
  MPI_Comm_size(part, &on_host);
  OK(MPI_Comm_free(&part));
  OK(MPI_Comm_split_type(inter, MPI_COMM_TYPE_SHARED, -mine, MPI_INFO_NULL, &part));
  CHECK(part != MPI_COMM_NULL || on_host < size);
  if (part != MPI_COMM_NULL) {
    int is_inter = 0, n = -1, far = -1, at = -1;
    MPI_Comm_test_inter(part, &is_inter);
    MPI_Comm_size(part, &n);
    MPI_Comm_remote_size(part, &far);
    MPI_Comm_rank(part, &at);
    CHECK(is_inter && (on_host < size || (n == local && far == remote && at == local - 1 - mine)));
    talk(part, 8);
    OK(MPI_Comm_free(&part));
  }
  OK(MPI_Comm_split_type(inter, rank < left ? MPI_UNDEFINED : MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &part));
  CHECK(part == MPI_COMM_NULL);
}

static void check_errors(MPI_Comm inter, MPI_Comm half) {
  int n = -1, remote = 0;
  MPI_Comm other = MPI_COMM_NULL;
  MPI_Comm_remote_size(inter, &remote);
  MPI_Comm_set_errhandler(inter, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(half, MPI_ERRORS_RETURN);
  CHECK_CLASS(MPI_Comm_remote_size(half, &n), MPI_ERR_COMM);
  CHECK_CLASS(MPI_Intercomm_merge(half, 0, &other), MPI_ERR_COMM);
  CHECK_CLASS(MPI_Send(&n, 1, MPI_INT, remote, 0, inter), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Intercomm_create(half, 1000, MPI_COMM_WORLD, 0, 1, &other), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Intercomm_create(inter, 0, MPI_COMM_WORLD, 0, 1, &other), MPI_ERR_COMM);
  /* The leader finds no remote leader: all ranks of its group get an error. */
  CHECK_CLASS(MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, size, 1, &other), MPI_ERR_RANK);
  CHECK(other == MPI_COMM_NULL);
}

int main(int argc, char** argv) {
  int left;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (left = 1; left < size; left = left < size - 1 && 2 * left >= size ? size - 1 : 2 * left) {
    MPI_Comm half, inter = make(left, &half);
    check_shape(inter, left);
    talk(inter, 3);
    check_children(inter, left);
    check_split_type(inter, left);
    check_merge(inter, left, 0, 1);
    check_merge(inter, left, 1, 0);
    check_merge(inter, left, 1, 1);
    check_errors(inter, half);
    talk(inter, 4);
    OK(MPI_Comm_free(&inter));
    OK(MPI_Comm_free(&half));
  }
  return check_finalize();
}
