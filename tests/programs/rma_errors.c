/* SPDX-License-Identifier: BSD-3-Clause */
/* Wrong arguments and calls outside their epochs: each gives its class, with call, argument and rank in the
   text, and leaves the window usable. */
#include "check.h"

static int rank, size, next;
static MPI_Win win;

static void text_has(int code, const char* words) {
  char text[MPI_MAX_ERROR_STRING];
  int length;
  MPI_Error_string(code, text, &length);
  CHECK(strstr(text, words) != NULL);
}

static void wrong_arguments(void) {
  int value = 1, code;
  MPI_Op op;
  MPI_Datatype mixed;
  MPI_Group world;
  const int lengths[2] = {1, 1};
  const MPI_Aint at[2] = {0, 8};
  const MPI_Datatype types[2] = {MPI_INT, MPI_DOUBLE};
  OK(MPI_Win_fence(0, win));
  CHECK_CLASS(MPI_Put(&value, 1, MPI_INT, size, 0, 1, MPI_INT, win), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Put(&value, 1, MPI_INT, -5, 0, 1, MPI_INT, win), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Put(&value, 1, MPI_INT, next, -1, 1, MPI_INT, win), MPI_ERR_DISP);
  CHECK_CLASS(MPI_Put(&value, -1, MPI_INT, next, 0, 1, MPI_INT, win), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Put(&value, 1, MPI_DATATYPE_NULL, next, 0, 1, MPI_INT, win), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_Put(NULL, 1, MPI_INT, next, 0, 1, MPI_INT, win), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Put(&value, 1, MPI_INT, next, 0, 2, MPI_INT, win), MPI_ERR_TRUNCATE);
  code = MPI_Put(&value, 1, MPI_INT, next, 10, 1, MPI_INT, win);
  CHECK_CLASS(code, MPI_ERR_RMA_RANGE);
  text_has(code, "MPI_Put");
  text_has(code, "argument 5 (target_disp) is 10");
  CHECK_CLASS(MPI_Get(&value, 1, MPI_INT, next, 1000000, 1, MPI_INT, win), MPI_ERR_RMA_RANGE);
  CHECK_CLASS(MPI_Get(&value, 1, MPI_INT, next, (MPI_Aint)1 << 62, 1, MPI_INT, win), MPI_ERR_RMA_RANGE);
  MPI_Op_create((MPI_User_function*)wrong_arguments, 1, &op);
  CHECK_CLASS(MPI_Accumulate(&value, 1, MPI_INT, next, 0, 1, MPI_INT, op, win), MPI_ERR_OP);
  MPI_Op_free(&op);
  CHECK_CLASS(MPI_Accumulate(&value, 1, MPI_INT, next, 0, 1, MPI_INT, MPI_MAXLOC, win), MPI_ERR_OP);
  MPI_Type_create_struct(2, lengths, at, types, &mixed);
  CHECK_CLASS(MPI_Accumulate(&value, 1, mixed, next, 0, 1, mixed, MPI_SUM, win),
              MPI_ERR_TYPE); /* not committed */
  MPI_Type_commit(&mixed);
  CHECK_CLASS(MPI_Accumulate(&value, 1, mixed, next, 0, 1, mixed, MPI_SUM, win), MPI_ERR_TYPE);
  MPI_Type_free(&mixed);
  CHECK_CLASS(MPI_Compare_and_swap(&value, &value, &value, MPI_DOUBLE, next, 0, win), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_Compare_and_swap(&value, NULL, &value, MPI_INT, next, 0, win), MPI_ERR_ARG);
  OK(MPI_Compare_and_swap(NULL, NULL, NULL, MPI_INT, MPI_PROC_NULL, 0, win));
  CHECK_CLASS(MPI_Win_fence(1, win), MPI_ERR_ASSERT);
  CHECK_CLASS(MPI_Win_lock(7, next, 0, win), MPI_ERR_LOCKTYPE);
  CHECK_CLASS(MPI_Win_lock(MPI_LOCK_SHARED, next, 1, win), MPI_ERR_ASSERT);
  CHECK_CLASS(MPI_Win_lock(MPI_LOCK_SHARED, size, 0, win), MPI_ERR_RANK);
  CHECK_CLASS(MPI_Win_attach(win, &value, 4), MPI_ERR_RMA_FLAVOR);
  CHECK_CLASS(MPI_Win_fence(0, MPI_WIN_NULL), MPI_ERR_WIN);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  CHECK_CLASS(MPI_Win_post(MPI_GROUP_NULL, 0, win), MPI_ERR_GROUP);
  MPI_Group_free(&world);
  OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
}

static void wrong_epochs(void) {
  int value = 1, code, flag;
  MPI_Request request;
  MPI_Group self, world;
  MPI_Comm_group(MPI_COMM_SELF, &self);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  code = MPI_Put(&value, 1, MPI_INT, next, 0, 1, MPI_INT, win);
  CHECK_CLASS(code, MPI_ERR_RMA_SYNC);
  text_has(code, "argument 4 (target_rank) is ");
  CHECK_CLASS(MPI_Win_unlock(next, win), MPI_ERR_RMA_SYNC);
  CHECK_CLASS(MPI_Win_unlock_all(win), MPI_ERR_RMA_SYNC);
  CHECK_CLASS(MPI_Win_flush(next, win), MPI_ERR_RMA_SYNC);
  CHECK_CLASS(MPI_Win_flush_all(win), MPI_ERR_RMA_SYNC);
  CHECK_CLASS(MPI_Win_complete(win), MPI_ERR_RMA_SYNC);
  CHECK_CLASS(MPI_Win_wait(win), MPI_ERR_RMA_SYNC);
  CHECK_CLASS(MPI_Win_test(win, &flag), MPI_ERR_RMA_SYNC);

  OK(MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win));
  CHECK_CLASS(MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win), MPI_ERR_RMA_SYNC);
  CHECK_CLASS(MPI_Win_lock_all(0, win), MPI_ERR_RMA_SYNC);
  CHECK_CLASS(MPI_Win_fence(0, win), MPI_ERR_RMA_SYNC);
  CHECK_CLASS(MPI_Win_start(self, 0, win), MPI_ERR_RMA_SYNC);
  CHECK_CLASS(MPI_Win_free(&win), MPI_ERR_RMA_SYNC);
  CHECK(win != MPI_WIN_NULL);
  if (size > 1) CHECK_CLASS(MPI_Put(&value, 1, MPI_INT, rank, 0, 1, MPI_INT, win), MPI_ERR_RMA_SYNC);
  OK(MPI_Win_unlock(next, win));
  CHECK_CLASS(MPI_Win_unlock(next, win), MPI_ERR_RMA_SYNC);

  OK(MPI_Win_lock_all(0, win));
  CHECK_CLASS(MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win), MPI_ERR_RMA_SYNC);
  CHECK_CLASS(MPI_Win_fence(0, win), MPI_ERR_RMA_SYNC);
  OK(MPI_Win_unlock_all(win));

  OK(MPI_Win_fence(0, win));
  OK(MPI_Put(&value, 1, MPI_INT, next, 0, 1, MPI_INT, win));
  CHECK_CLASS(MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win), MPI_ERR_RMA_SYNC);
  CHECK_CLASS(MPI_Rput(&value, 1, MPI_INT, next, 0, 1, MPI_INT, win, &request), MPI_ERR_RMA_SYNC);
  OK(MPI_Win_fence(0, win));
  OK(MPI_Win_lock(MPI_LOCK_SHARED, next, 0, win)); /* no operation: the fence need not have opened an epoch */
  OK(MPI_Win_unlock(next, win));

  OK(MPI_Win_post(self, 0, win));
  CHECK_CLASS(MPI_Win_post(self, 0, win), MPI_ERR_RMA_SYNC);
  OK(MPI_Win_start(self, 0, win));
  CHECK_CLASS(MPI_Win_start(self, 0, win), MPI_ERR_RMA_SYNC);
  CHECK_CLASS(MPI_Win_free(&win), MPI_ERR_RMA_SYNC);
  if (size > 1) CHECK_CLASS(MPI_Put(&value, 1, MPI_INT, next, 0, 1, MPI_INT, win), MPI_ERR_RMA_SYNC);
  OK(MPI_Put(&value, 1, MPI_INT, rank, 1, 1, MPI_INT, win));
  OK(MPI_Win_complete(win));
  OK(MPI_Win_wait(win));
  MPI_Group_free(&self);
  MPI_Group_free(&world);
  MPI_Barrier(MPI_COMM_WORLD);
}

static void wrong_windows(void) {
  int memory;
  void* base;
  MPI_Win made;
  CHECK_CLASS(MPI_Win_create(&memory, -1, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &made), MPI_ERR_SIZE);
  CHECK_CLASS(MPI_Win_create(&memory, 4, 0, MPI_INFO_NULL, MPI_COMM_WORLD, &made), MPI_ERR_DISP);
  CHECK_CLASS(MPI_Win_create(NULL, 4, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &made), MPI_ERR_BASE);
  CHECK_CLASS(MPI_Win_create(&memory, 4, 1, MPI_INFO_NULL, MPI_COMM_NULL, &made), MPI_ERR_COMM);
  /* More than there is: every rank gets the error. */
  CHECK_CLASS(MPI_Win_allocate((MPI_Aint)1 << 58, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &made),
              MPI_ERR_NO_MEM);
}

/* Made with no_locks=true. */
static void no_locks(void) {
  MPI_Info info;
  MPI_Win made;
  int* base;
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "no_locks", "true"));
  OK(MPI_Win_allocate(sizeof *base, sizeof *base, info, MPI_COMM_WORLD, &base, &made));
  OK(MPI_Info_free(&info));
  MPI_Win_set_errhandler(made, MPI_ERRORS_RETURN);
  CHECK_CLASS(MPI_Win_lock(MPI_LOCK_SHARED, next, 0, made), MPI_ERR_RMA_SYNC);
  CHECK_CLASS(MPI_Win_lock_all(0, made), MPI_ERR_RMA_SYNC);
  OK(MPI_Win_fence(0, made));
  OK(MPI_Win_free(&made));
}

/* Several thousand at once. */
static void many_windows(void) {
  enum { kWindows = 2000 };
  static MPI_Win all[kWindows];
  static int cells[kWindows];
  for (int i = 0; i < kWindows; ++i)
    OK(MPI_Win_create(&cells[i], sizeof cells[i], sizeof cells[i], MPI_INFO_NULL, MPI_COMM_WORLD, &all[i]));
  for (int i = 0; i < kWindows; i += 97) {
    OK(MPI_Win_fence(0, all[i]));
    OK(MPI_Put(&i, 1, MPI_INT, next, 0, 1, MPI_INT, all[i]));
    OK(MPI_Win_fence(0, all[i]));
    CHECK(cells[i] == i);
  }
  for (int i = 0; i < kWindows; ++i) OK(MPI_Win_free(&all[i]));
}

int main(int argc, char** argv) {
  static int memory[10];
  int code;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  next = (rank + 1) % size;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  OK(MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  wrong_arguments();
  wrong_epochs();
  wrong_windows();
  no_locks();
  many_windows();
  code = MPI_Win_free(&win);
  CHECK(code == MPI_SUCCESS);
  return check_finalize();
}
