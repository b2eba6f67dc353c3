/* SPDX-License-Identifier: BSD-3-Clause */
/* Runs with HERALD_CHECK=rma. What could go wrong: a conflict is not found, in one of the kinds of windows or
   synchronisations; or accesses are reported that MPI allows. */
#include "check.h"

static int rank, size;

/* The call must report a conflict that the text describes; ranks that see none expect success. */
static void expect_conflict(int code, int wanted, const char* word) {
  char text[MPI_MAX_ERROR_STRING] = "";
  int class = MPI_SUCCESS, length = 0;
  if (code != MPI_SUCCESS) {
    MPI_Error_class(code, &class);
    MPI_Error_string(code, text, &length);
  }
  CHECK(class == (wanted ? MPI_ERR_RMA_CONFLICT : MPI_SUCCESS));
  if (wanted && strstr(text, word) == NULL) {
    fprintf(stderr, "failed: %s is not in: %s\n", word, text);
    check_failures_++;
  }
}

/* The last two ranks access the memory of rank 0; the first of them finds its operation there. */
static void conflicts(MPI_Win win) {
  long value = rank, got[4];
  int first = rank == size - 2, second = rank == size - 1;
  OK(MPI_Win_fence(0, win));
  if (first) OK(MPI_Put(&value, 1, MPI_LONG, 0, 2, 1, MPI_LONG, win));
  if (first) OK(MPI_Put(&value, 1, MPI_LONG, 0, 2, 1, MPI_LONG, win)); /* conflicts with itself */
  if (second) OK(MPI_Put(&value, 1, MPI_LONG, 0, 3, 1, MPI_LONG, win));
  expect_conflict(MPI_Win_fence(0, win), first, "put of rank");
  if (first) OK(MPI_Accumulate(&value, 1, MPI_LONG, 0, 2, 1, MPI_LONG, MPI_SUM, win));
  if (second) OK(MPI_Accumulate(&value, 1, MPI_LONG, 0, 2, 1, MPI_LONG, MPI_SUM, win));
  if (first) OK(MPI_Get(got, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win));
  if (second) OK(MPI_Get(got, 1, MPI_LONG, 0, 0, 1, MPI_LONG, win));
  OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));

  OK(MPI_Win_lock_all(0, win));
  if (second) {
    OK(MPI_Put(&value, 1, MPI_LONG, 0, 1, 1, MPI_LONG, win));
    OK(MPI_Win_flush(0, win));
    OK(MPI_Get(got, 2, MPI_LONG, 0, 0, 2, MPI_LONG, win)); /* after a flush: allowed */
    OK(MPI_Win_flush(0, win));
    CHECK(got[1] == value);
    OK(MPI_Get(got, 2, MPI_LONG, 0, 0, 2, MPI_LONG, win));
    OK(MPI_Put(&value, 1, MPI_LONG, 0, 1, 1, MPI_LONG, win));
    expect_conflict(MPI_Win_flush(0, win), 1, "get of rank");
  }
  OK(MPI_Win_unlock_all(win));
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == 0) { /* its own memory */
    OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win));
    OK(MPI_Put(&value, 1, MPI_LONG, 0, 1, 1, MPI_LONG, win));
    expect_conflict(MPI_Get(got, 1, MPI_LONG, 0, 1, 1, MPI_LONG, win), 1, "put of rank 0");
    OK(MPI_Win_unlock(0, win));
  }
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

/* Two ranks in the exposure epoch of a third. */
static void exposed(MPI_Win win) {
  long value = rank;
  MPI_Group all, group;
  int target = 0, origins[2] = {size - 2, size - 1};
  OK(MPI_Comm_group(MPI_COMM_WORLD, &all));
  if (rank == 0) {
    OK(MPI_Group_incl(all, 2, origins, &group));
    OK(MPI_Win_post(group, 0, win));
    OK(MPI_Win_wait(win));
    OK(MPI_Group_free(&group));
  } else if (rank >= size - 2) {
    OK(MPI_Group_incl(all, 1, &target, &group));
    OK(MPI_Win_start(group, 0, win));
    OK(MPI_Put(&value, 1, MPI_LONG, 0, rank % 2, 1, MPI_LONG, win));
    if (rank == size - 1) OK(MPI_Put(&value, 1, MPI_LONG, 0, rank % 2, 1, MPI_LONG, win));
    expect_conflict(MPI_Win_complete(win), rank == size - 1, "in one epoch");
    OK(MPI_Group_free(&group));
  }
  OK(MPI_Group_free(&all));
  OK(MPI_Barrier(MPI_COMM_WORLD));
}

int main(int argc, char** argv) {
  MPI_Win win;
  long memory[8] = {0}, *allocated;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  for (int kind = 0; kind < 2 && size >= 3; kind++) {
    if (kind == 0)
      OK(MPI_Win_create(memory, sizeof memory, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
    else
      OK(MPI_Win_allocate(sizeof memory, sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &allocated, &win));
    OK(MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN));
    conflicts(win);
    exposed(win);
    OK(MPI_Win_free(&win));
  }
  return check_finalize();
}
