/* SPDX-License-Identifier: BSD-3-Clause */
/* Groups. What could go wrong: an order that does not follow the standard's (union keeps the first group's
   order), ranks translated wrongly, ranges with negative stride miscounted, a rank that comes twice or does
   not exist taken without a word, the empty group made as an object that is not MPI_GROUP_EMPTY. */
#include "check.h"

static int rank, size;
static MPI_Group world;

/* The members of `group`, as ranks in the world, are these. */
static int has(MPI_Group group, int n, const int* wanted) {
  int count, i, ranks[64], in_world[64];
  MPI_Group_size(group, &count);
  if (count != n) return 0;
  for (i = 0; i < n; i++) ranks[i] = i;
  MPI_Group_translate_ranks(group, n, ranks, world, in_world);
  for (i = 0; i < n; i++)
    if (in_world[i] != wanted[i]) return 0;
  return 1;
}

static void test_sets(void) {
  int even[64], odd[64], all[64], first[2] = {1, 0}, n_even = 0, n_odd = 0, i, result;
  MPI_Group a, b, c;
  for (i = 0; i < size; i++) {
    all[i] = i;
    if (i % 2 == 0)
      even[n_even++] = i;
    else
      odd[n_odd++] = i;
  }
  OK(MPI_Group_incl(world, n_even, even, &a));
  OK(MPI_Group_excl(world, n_even, even, &b));
  CHECK(has(a, n_even, even));
  CHECK(has(b, n_odd, odd));
  CHECK((b == MPI_GROUP_EMPTY) == (n_odd == 0));
  OK(MPI_Group_intersection(a, b, &c));
  CHECK(c == MPI_GROUP_EMPTY);
  OK(MPI_Group_union(b, a, &c)); /* odd ones first */
  for (i = 0; i < n_even; i++) odd[n_odd + i] = even[i];
  CHECK(has(c, size, odd));
  OK(MPI_Group_compare(world, c, &result));
  CHECK(result == (size <= 1 ? MPI_IDENT : MPI_SIMILAR));
  OK(MPI_Group_compare(a, world, &result));
  CHECK(result == (size == 1 ? MPI_IDENT : MPI_UNEQUAL));
  OK(MPI_Group_free(&c));
  OK(MPI_Group_difference(world, a, &c));
  CHECK(has(c, n_odd, odd));
  if (c != MPI_GROUP_EMPTY) OK(MPI_Group_free(&c));
  OK(MPI_Group_free(&a));
  if (b != MPI_GROUP_EMPTY) OK(MPI_Group_free(&b));
  if (size > 1) {
    OK(MPI_Group_incl(world, 2, first, &a)); /* the order given is the order got */
    CHECK(has(a, 2, first));
    OK(MPI_Group_rank(a, &i));
    CHECK(i == (rank == 0 ? 1 : rank == 1 ? 0 : MPI_UNDEFINED));
    OK(MPI_Group_free(&a));
  }
  OK(MPI_Group_incl(world, 0, NULL, &a));
  CHECK(a == MPI_GROUP_EMPTY);
  OK(MPI_Group_excl(world, size, all, &a));
  CHECK(a == MPI_GROUP_EMPTY);
  OK(MPI_Group_size(MPI_GROUP_EMPTY, &i));
  CHECK(i == 0);
}

static void test_ranges(void) {
  int down[1][3], wanted[64], i, two[2][3] = {{0, 0, 1}, {2, 3, 1}}, got[3] = {0, 2, 3};
  MPI_Group a;
  down[0][0] = size - 1;
  down[0][1] = 0;
  down[0][2] = -1;
  for (i = 0; i < size; i++) wanted[i] = size - 1 - i;
  OK(MPI_Group_range_incl(world, 1, down, &a));
  CHECK(has(a, size, wanted));
  OK(MPI_Group_free(&a));
  OK(MPI_Group_range_excl(world, 1, down, &a));
  CHECK(a == MPI_GROUP_EMPTY);
  OK(MPI_Group_range_incl(world, 0, NULL, &a));
  CHECK(a == MPI_GROUP_EMPTY);
  if (size >= 4) {
    int stride[1][3] = {{0, 3, 2}}, step[2] = {0, 2}, rest[64], n = 0;
    OK(MPI_Group_range_incl(world, 2, two, &a));
    CHECK(has(a, 3, got));
    OK(MPI_Group_free(&a));
    OK(MPI_Group_range_incl(world, 1, stride, &a));
    CHECK(has(a, 2, step));
    OK(MPI_Group_free(&a));
    OK(MPI_Group_range_excl(world, 1, stride, &a));
    for (i = 0; i < size; i++)
      if (i != 0 && i != 2) rest[n++] = i;
    CHECK(has(a, n, rest));
    OK(MPI_Group_free(&a));
  }
}

static void test_translate(void) {
  int ranks[2] = {0, MPI_PROC_NULL}, out[2] = {7, 7};
  MPI_Group self;
  OK(MPI_Comm_group(MPI_COMM_SELF, &self));
  OK(MPI_Group_translate_ranks(world, 2, ranks, self, out));
  CHECK(out[0] == (rank == 0 ? 0 : MPI_UNDEFINED));
  CHECK(out[1] == MPI_PROC_NULL);
  OK(MPI_Group_translate_ranks(world, 1, ranks, MPI_GROUP_EMPTY, out));
  CHECK(out[0] == MPI_UNDEFINED);
  OK(MPI_Group_free(&self));
}

static void test_errors(void) {
  int beyond[1], twice[2] = {0, 0}, range[1][3] = {{0, 0, 0}}, wrong[1][3], value;
  MPI_Group a, freed;
  beyond[0] = size;
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  CHECK_CLASS(MPI_Group_incl(world, 1, beyond, &a), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Group_excl(world, 1, beyond, &a), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Group_incl(world, 2, twice, &a), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Group_incl(world, -1, twice, &a), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Group_incl(world, 1, NULL, &a), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Group_range_incl(world, 1, range, &a), MPI_ERR_ARG);
  wrong[0][0] = 0;
  wrong[0][1] = size;
  wrong[0][2] = 1;
  CHECK_CLASS(MPI_Group_range_incl(world, 1, wrong, &a), MPI_ERR_RANK);
  if (size > 1) {
    wrong[0][1] = size - 1;
    wrong[0][2] = -1;
    CHECK_CLASS(MPI_Group_range_excl(world, 1, wrong, &a), MPI_ERR_ARG);
  }
  CHECK_CLASS(MPI_Group_size(MPI_GROUP_NULL, &value), MPI_ERR_GROUP);
  CHECK_CLASS(MPI_Group_size(world, NULL), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Group_translate_ranks(world, 1, beyond, world, &value), MPI_ERR_RANK);
  OK(MPI_Group_incl(world, 1, twice, &a));
  freed = a;
  OK(MPI_Group_free(&a));
  CHECK(a == MPI_GROUP_NULL);
  CHECK_CLASS(MPI_Group_size(freed, &value), MPI_ERR_GROUP);
  CHECK_CLASS(MPI_Group_free(&a), MPI_ERR_GROUP);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_ARE_FATAL);
}

/* A group lives on when the communicator it came from is freed, and the other way round. */
static void test_lives(void) {
  MPI_Comm copy;
  MPI_Group group;
  int n;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
  OK(MPI_Comm_group(copy, &group));
  OK(MPI_Comm_free(&copy));
  OK(MPI_Group_size(group, &n));
  CHECK(n == size);
  OK(MPI_Group_free(&group));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
  test_sets();
  test_ranges();
  test_translate();
  test_errors();
  test_lives();
  OK(MPI_Group_free(&world));
  return check_finalize();
}
