/* SPDX-License-Identifier: BSD-3-Clause */
/* Communicators. What could go wrong: members that disagree on who is in a new communicator, in which order,
   or on its context, so that messages of two communicators mix; a duplicate that shares traffic with its
   parent; a split whose ties do not follow the old ranks; a freed communicator that is taken for a live one.
 */
#include "check.h"

static int world_rank, world_size;

/* A message in `a` must not be received in `b`, although rank and tag are the same. */
static void check_apart(MPI_Comm a, MPI_Comm b) {
  int rank, size, from_a = -1, from_b = -1, in_a, in_b;
  MPI_Request requests[2];
  MPI_Comm_rank(a, &rank);
  MPI_Comm_size(a, &size);
  in_a = 1000 + rank;
  in_b = 2000 + rank;
  OK(MPI_Irecv(&from_b, 1, MPI_INT, (rank + size - 1) % size, 7, b, &requests[1]));
  OK(MPI_Irecv(&from_a, 1, MPI_INT, (rank + size - 1) % size, 7, a, &requests[0]));
  OK(MPI_Send(&in_a, 1, MPI_INT, (rank + 1) % size, 7, a));
  OK(MPI_Send(&in_b, 1, MPI_INT, (rank + 1) % size, 7, b));
  OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
  CHECK(from_a == 1000 + (rank + size - 1) % size);
  CHECK(from_b == 2000 + (rank + size - 1) % size);
}

/* Every rank of `comm` receives from every other: none is missing, the ranks are distinct. */
static void check_usable(MPI_Comm comm) {
  int rank, size, i;
  MPI_Comm_rank(comm, &rank);
  MPI_Comm_size(comm, &size);
  for (i = 1; i < size; i++) {
    int out = rank * 100, in = -1;
    OK(MPI_Sendrecv(&out, 1, MPI_INT, (rank + i) % size, i, &in, 1, MPI_INT, (rank + size - i) % size, i,
                    comm, MPI_STATUS_IGNORE));
    CHECK(in == (rank + size - i) % size * 100);
  }
}

static void test_dup(void) {
  MPI_Comm copy, copy2;
  MPI_Request request;
  int result;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &copy));
  OK(MPI_Comm_compare(MPI_COMM_WORLD, copy, &result));
  CHECK(result == MPI_CONGRUENT);
  OK(MPI_Comm_compare(copy, copy, &result));
  CHECK(result == MPI_IDENT);
  check_apart(MPI_COMM_WORLD, copy);
  OK(MPI_Comm_idup(copy, &copy2, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  check_apart(copy, copy2);
  OK(MPI_Comm_free(&copy));
  CHECK(copy == MPI_COMM_NULL);
  check_usable(copy2);
  OK(MPI_Recv_init(&result, 1, MPI_INT, 0, 0, copy2, &request));
  OK(MPI_Comm_disconnect(&copy2)); /* a request that is not started is nothing to wait for */
  CHECK(copy2 == MPI_COMM_NULL);
  OK(MPI_Request_free(&request));
}

static void test_many_idups(void) {
  MPI_Comm comms[5];
  MPI_Request requests[5];
  int i;
  for (i = 0; i < 5; i++) OK(MPI_Comm_idup(MPI_COMM_WORLD, &comms[i], &requests[i]));
  OK(MPI_Waitall(5, requests, MPI_STATUSES_IGNORE));
  for (i = 1; i < 5; i++) check_apart(comms[i - 1], comms[i]);
  for (i = 0; i < 5; i++) OK(MPI_Comm_free(&comms[i]));
}

static void test_split(void) {
  MPI_Comm half, reversed, same, none;
  int rank, size;
  OK(MPI_Comm_split(MPI_COMM_WORLD, world_rank % 2, world_rank, &half));
  MPI_Comm_rank(half, &rank);
  MPI_Comm_size(half, &size);
  CHECK(rank == world_rank / 2);
  CHECK(size == (world_size + 1 - world_rank % 2) / 2);
  check_usable(half);
  OK(MPI_Comm_split(MPI_COMM_WORLD, 3, -world_rank, &reversed));
  MPI_Comm_rank(reversed, &rank);
  CHECK(rank == world_size - 1 - world_rank);
  check_usable(reversed);
  OK(MPI_Comm_split(MPI_COMM_WORLD, 0, 5, &same)); /* ties keep the old order */
  MPI_Comm_rank(same, &rank);
  CHECK(rank == world_rank);
  OK(MPI_Comm_split(MPI_COMM_WORLD, world_rank == 0 ? MPI_UNDEFINED : 1, 0, &none));
  CHECK((none == MPI_COMM_NULL) == (world_rank == 0));
  if (none != MPI_COMM_NULL) {
    check_usable(none);
    OK(MPI_Comm_free(&none));
  }
  OK(MPI_Comm_free(&half));
  OK(MPI_Comm_free(&reversed));
  OK(MPI_Comm_free(&same));
}

static void test_split_type(void) {
  MPI_Comm host, guided, unguided;
  MPI_Info info;
  int size, result, flag, length = 64;
  char kind[64];
  OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, world_rank, MPI_INFO_NULL, &host));
  MPI_Comm_size(host, &size);
  CHECK(size >= 1 && size <= world_size);
  check_usable(host);
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "mpi_hw_resource_type", "mpi_shared_memory"));
  OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, world_rank, info, &guided));
  CHECK(guided != MPI_COMM_NULL);
  OK(MPI_Comm_compare(host, guided, &result));
  CHECK(result == MPI_CONGRUENT);
  OK(MPI_Comm_free(&guided));
  OK(MPI_Info_set(info, "mpi_hw_resource_type", "no such thing"));
  OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_RESOURCE_GUIDED, world_rank, info, &guided));
  CHECK(guided == MPI_COMM_NULL);
  OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_GUIDED, world_rank, MPI_INFO_NULL, &guided));
  CHECK(guided == MPI_COMM_NULL);
  OK(MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_HW_UNGUIDED, world_rank, info, &unguided));
  if (unguided != MPI_COMM_NULL) {
    MPI_Comm_size(unguided, &size);
    CHECK(size < world_size);
    OK(MPI_Info_get_string(info, "mpi_hw_resource_type", &length, kind, &flag));
    CHECK(flag);
    OK(MPI_Comm_free(&unguided));
  }
  OK(MPI_Comm_split_type(MPI_COMM_WORLD, world_rank == 0 ? MPI_UNDEFINED : MPI_COMM_TYPE_SHARED, 0,
                         MPI_INFO_NULL, &guided));
  CHECK((guided == MPI_COMM_NULL) == (world_rank == 0));
  if (guided != MPI_COMM_NULL) OK(MPI_Comm_free(&guided));
  OK(MPI_Info_free(&info));
  OK(MPI_Comm_free(&host));
}

static void test_create(void) {
  MPI_Group world, part;
  MPI_Comm made;
  int i, n = 0, ranks[64];
  OK(MPI_Comm_group(MPI_COMM_WORLD, &world));
  for (i = world_rank % 2; i < world_size; i += 2) ranks[n++] = i; /* two groups that do not overlap */
  OK(MPI_Group_incl(world, n, ranks, &part));
  OK(MPI_Comm_create(MPI_COMM_WORLD, part, &made));
  CHECK(made != MPI_COMM_NULL);
  check_usable(made);
  OK(MPI_Comm_free(&made));
  OK(MPI_Comm_create_group(MPI_COMM_WORLD, part, 5, &made));
  check_usable(made);
  OK(MPI_Comm_free(&made));
  OK(MPI_Comm_create(MPI_COMM_WORLD, world_rank == 0 ? part : MPI_GROUP_EMPTY, &made));
  CHECK((made == MPI_COMM_NULL) == (world_rank != 0) || world_size > 2);
  if (made != MPI_COMM_NULL) OK(MPI_Comm_free(&made));
  OK(MPI_Group_free(&part));
  for (i = 0; i < world_size; i++) ranks[i] = world_size - 1 - i;
  OK(MPI_Group_incl(world, world_size, ranks, &part));
  OK(MPI_Comm_create_group(MPI_COMM_WORLD, part, 0, &made));
  MPI_Comm_rank(made, &i);
  CHECK(i == world_size - 1 - world_rank);
  check_usable(made);
  OK(MPI_Comm_free(&made));
  OK(MPI_Group_free(&part));
  OK(MPI_Group_free(&world));
  CHECK(world == MPI_GROUP_NULL);
}

static void test_names_and_info(void) {
  char name[MPI_MAX_OBJECT_NAME], long_name[300], value[16];
  int length, flag, size = 16;
  MPI_Comm copy;
  MPI_Info info;
  OK(MPI_Comm_get_name(MPI_COMM_WORLD, name, &length));
  CHECK(strcmp(name, "MPI_COMM_WORLD") == 0 && length == 14);
  OK(MPI_Comm_get_name(MPI_COMM_SELF, name, &length));
  CHECK(strcmp(name, "MPI_COMM_SELF") == 0);
  OK(MPI_Comm_get_name(MPI_COMM_NULL, name, &length));
  CHECK(strcmp(name, "MPI_COMM_NULL") == 0);
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "mpi_assert_no_any_tag", "true"));
  OK(MPI_Info_set(info, "unheard_of", "true"));
  OK(MPI_Comm_dup_with_info(MPI_COMM_WORLD, info, &copy));
  OK(MPI_Info_free(&info));
  OK(MPI_Comm_get_name(copy, name, &length));
  CHECK(length == 0 && name[0] == 0); /* names are not copied */
  memset(long_name, 'x', sizeof long_name);
  long_name[299] = 0;
  OK(MPI_Comm_set_name(copy, long_name));
  OK(MPI_Comm_get_name(copy, name, &length));
  CHECK(length == MPI_MAX_OBJECT_NAME - 1);
  OK(MPI_Comm_get_info(copy, &info));
  OK(MPI_Info_get_string(info, "mpi_assert_no_any_tag", &size, value, &flag));
  CHECK(flag && strcmp(value, "true") == 0);
  OK(MPI_Info_get_string(info, "unheard_of", &size, value, &flag));
  CHECK(!flag);
  OK(MPI_Info_free(&info));
  OK(MPI_Comm_free(&copy));
}

static void test_errors(void) {
  MPI_Comm copy, freed;
  MPI_Group group;
  int flag = 1, self = 0, status;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  OK(MPI_Comm_test_inter(MPI_COMM_WORLD, &flag));
  CHECK(!flag);
  OK(MPI_Topo_test(MPI_COMM_WORLD, &status));
  CHECK(status == MPI_UNDEFINED);
  OK(MPI_Comm_get_parent(&copy));
  CHECK(copy == MPI_COMM_NULL);
  OK(MPI_Comm_dup(MPI_COMM_SELF, &copy));
  freed = copy;
  OK(MPI_Comm_free(&copy));
  CHECK_CLASS(MPI_Comm_rank(freed, &self), MPI_ERR_COMM);
  CHECK_CLASS(MPI_Comm_free(&freed), MPI_ERR_COMM);
  CHECK_CLASS(MPI_Comm_rank(MPI_COMM_NULL, &self), MPI_ERR_COMM);
  CHECK_CLASS(MPI_Comm_rank((MPI_Comm)MPI_GROUP_EMPTY, &self), MPI_ERR_COMM);
  freed = MPI_COMM_WORLD;
  CHECK_CLASS(MPI_Comm_free(&freed), MPI_ERR_COMM);
  CHECK_CLASS(MPI_Comm_size(MPI_COMM_WORLD, NULL), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Comm_split(MPI_COMM_WORLD, -5, 0, &copy), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Comm_split_type(MPI_COMM_WORLD, 12345, 0, MPI_INFO_NULL, &copy), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Comm_create(MPI_COMM_WORLD, MPI_GROUP_NULL, &copy), MPI_ERR_GROUP);
  if (world_size > 1) {
    OK(MPI_Comm_group(MPI_COMM_WORLD, &group));
    CHECK_CLASS(MPI_Comm_create(MPI_COMM_SELF, group, &copy), MPI_ERR_GROUP);
    OK(MPI_Group_free(&group));
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
  MPI_Comm_size(MPI_COMM_WORLD, &world_size);
  test_dup();
  test_many_idups();
  test_split();
  test_split_type();
  test_create();
  test_names_and_info();
  test_errors();
  return check_finalize();
}
