/* SPDX-License-Identifier: BSD-3-Clause */
/* Windows as objects: attributes, names, hints, groups, error handlers, shared memory, sizes of 0, dynamic
   memory; and targets that compute. */
#include <time.h>
#include "check.h"

enum { kLimitSeconds = 60 };
static int rank, size;

static void predefined_attributes(MPI_Win win, void* base, MPI_Aint bytes, int unit, int flavor) {
  void* value;
  int flag = 0;
  OK(MPI_Win_get_attr(win, MPI_WIN_BASE, &value, &flag));
  CHECK(flag && value == base);
  OK(MPI_Win_get_attr(win, MPI_WIN_SIZE, &value, &flag));
  CHECK(flag && *(MPI_Aint*)value == bytes);
  OK(MPI_Win_get_attr(win, MPI_WIN_DISP_UNIT, &value, &flag));
  CHECK(flag && *(int*)value == unit);
  OK(MPI_Win_get_attr(win, MPI_WIN_CREATE_FLAVOR, &value, &flag));
  CHECK(flag && *(int*)value == flavor);
  OK(MPI_Win_get_attr(win, MPI_WIN_MODEL, &value, &flag));
  CHECK(flag && *(int*)value == MPI_WIN_UNIFIED);
}

static int deleted;
static int on_delete(MPI_Win win, int keyval, void* value, void* extra) {
  (void)win, (void)keyval, (void)extra;
  deleted += *(int*)value;
  return MPI_SUCCESS;
}

static void user_attributes(MPI_Win win) {
  static int values[2] = {5, 7};
  int key, flag;
  void* value;
  OK(MPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, on_delete, &key, NULL));
  OK(MPI_Win_get_attr(win, key, &value, &flag));
  CHECK(!flag);
  OK(MPI_Win_set_attr(win, key, &values[0]));
  OK(MPI_Win_set_attr(win, key, &values[1]));
  CHECK(deleted == 5);
  OK(MPI_Win_get_attr(win, key, &value, &flag));
  CHECK(flag && value == &values[1]);
  OK(MPI_Win_delete_attr(win, key));
  CHECK(deleted == 12);
  OK(MPI_Win_set_attr(win, key, &values[0]));
  OK(MPI_Win_free_keyval(&key));
}

static int errors;
static void on_error(MPI_Win* win, int* code, ...) {
  (void)code;
  CHECK(*win != MPI_WIN_NULL);
  errors++;
}

static void names_and_handlers(MPI_Win win) {
  char text[MPI_MAX_OBJECT_NAME], value[64];
  int length, flag;
  MPI_Group group, world;
  MPI_Info info;
  MPI_Errhandler handler, got;
  OK(MPI_Win_set_name(win, "halo"));
  OK(MPI_Win_get_name(win, text, &length));
  CHECK(strcmp(text, "halo") == 0 && length == 4);
  OK(MPI_Win_get_group(win, &group));
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  OK(MPI_Group_compare(group, world, &flag));
  CHECK(flag == MPI_IDENT);
  MPI_Group_free(&group);
  MPI_Group_free(&world);
  OK(MPI_Info_create(&info));
  OK(MPI_Info_set(info, "no_locks", "true"));
  OK(MPI_Win_set_info(win, info));
  OK(MPI_Info_free(&info));
  OK(MPI_Win_get_info(win, &info));
  length = sizeof value;
  OK(MPI_Info_get_string(info, "no_locks", &length, value, &flag));
  CHECK(flag && strcmp(value, "true") == 0);
  OK(MPI_Info_free(&info));
  OK(MPI_Win_create_errhandler(on_error, &handler));
  OK(MPI_Win_set_errhandler(win, handler));
  OK(MPI_Win_get_errhandler(win, &got));
  CHECK(got == handler);
  OK(MPI_Errhandler_free(&got));
  CHECK_CLASS(MPI_Win_unlock(0, win), MPI_ERR_RMA_SYNC);
  CHECK(errors == 1);
  OK(MPI_Win_call_errhandler(win, MPI_ERR_OTHER));
  CHECK(errors == 2);
  OK(MPI_Errhandler_free(&handler));
}

static void shared_memory(void) {
  MPI_Comm local;
  MPI_Win win;
  MPI_Aint bytes;
  int *mine, *theirs, *first, unit, i, here, place;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &local);
  MPI_Comm_size(local, &here);
  MPI_Comm_rank(local, &place);
  /* Rank i has i ints, so that the first rank has none. */
  OK(MPI_Win_allocate_shared(place * (MPI_Aint)sizeof(int), sizeof(int), MPI_INFO_NULL, local, &mine, &win));
  OK(MPI_Win_lock_all(0, win));
  for (i = 0; i < place; i++) mine[i] = place * 100 + i;
  OK(MPI_Win_sync(win));
  MPI_Barrier(local);
  OK(MPI_Win_sync(win));
  OK(MPI_Win_shared_query(win, MPI_PROC_NULL, &bytes, &unit, &first));
  if (here > 1) CHECK(bytes == sizeof(int) && unit == sizeof(int) && first[0] == 100);
  for (i = 0; i < here; i++) {
    OK(MPI_Win_shared_query(win, i, &bytes, &unit, &theirs));
    CHECK(bytes == i * (MPI_Aint)sizeof(int));
    if (i > 0) CHECK(theirs[i - 1] == i * 100 + i - 1);
    if (i > 0) CHECK(theirs == first + i * (i - 1) / 2); /* contiguous, by rank */
  }
  OK(MPI_Win_unlock_all(win));
  OK(MPI_Win_free(&win));
  /* Windows that MPI allocates can be queried, too. */
  OK(MPI_Win_allocate(64, 1, MPI_INFO_NULL, local, &mine, &win));
  OK(MPI_Win_shared_query(win, (place + 1) % here, &bytes, &unit, &theirs));
  CHECK(bytes == 0 || (bytes == 64 && theirs != NULL));
  OK(MPI_Win_free(&win));
  MPI_Comm_free(&local);
}

static void empty_windows(void) {
  MPI_Win win;
  void* base;
  char memory[16];
  MPI_Aint bytes;
  int unit, value = 1;
  OK(MPI_Win_create(NULL, 0, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  OK(MPI_Win_fence(0, win));
  OK(MPI_Put(NULL, 0, MPI_INT, (rank + 1) % size, 0, 0, MPI_INT, win));
  OK(MPI_Put(&value, 1, MPI_INT, MPI_PROC_NULL, 0, 1, MPI_INT, win));
  OK(MPI_Accumulate(NULL, 0, MPI_BYTE, (rank + 1) % size, 0, 0, MPI_BYTE, MPI_SUM,
                    win)); /* no element to add */
  OK(MPI_Win_fence(MPI_MODE_NOSUCCEED, win));
  OK(MPI_Win_shared_query(win, rank, &bytes, &unit, &base));
  CHECK(bytes == 0);
  OK(MPI_Win_free(&win));
  /* MPI_PROC_NULL means rank 0 here, never ourselves, also if its memory is not shared. */
  OK(MPI_Win_create(memory, 4 + (MPI_Aint)(rank % 8), 1, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  OK(MPI_Win_shared_query(win, MPI_PROC_NULL, &bytes, &unit, &base));
  CHECK(rank == 0 ? bytes == 4 && base == memory : bytes == 0 || bytes == 4);
  OK(MPI_Win_free(&win));
  OK(MPI_Win_allocate(rank == 0 ? 0 : 8, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
  OK(MPI_Win_free(&win));
}

static void dynamic_memory(void) {
  MPI_Win win;
  int memory[4] = {1, 2, 3, 4}, value = 0;
  MPI_Aint address, theirs;
  OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  OK(MPI_Win_attach(win, memory, sizeof memory));
  CHECK_CLASS(MPI_Win_attach(win, memory + 1, 4), MPI_ERR_RMA_ATTACH);
  CHECK_CLASS(MPI_Win_detach(win, memory + 1), MPI_ERR_BASE);
  CHECK_CLASS(MPI_Win_shared_query(win, 0, &address, &value, &theirs), MPI_ERR_RMA_FLAVOR);
  MPI_Get_address(memory, &address);
  MPI_Sendrecv(&address, 1, MPI_AINT, (rank + size - 1) % size, 0, &theirs, 1, MPI_AINT, (rank + 1) % size, 0,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  OK(MPI_Win_lock_all(0, win));
  OK(MPI_Get(&value, 1, MPI_INT, (rank + 1) % size, MPI_Aint_add(theirs, 8), 1, MPI_INT, win));
  OK(MPI_Win_flush((rank + 1) % size, win));
  CHECK(value == 3);
  /* Memory that is not attached: the target refuses, and this rank hears of it. */
  if (size > 1) {
    value = 9;
    OK(MPI_Put(&value, 1, MPI_INT, (rank + 1) % size, MPI_Aint_add(theirs, 16), 1, MPI_INT, win));
    CHECK_CLASS(MPI_Win_flush((rank + 1) % size, win), MPI_ERR_RMA_RANGE);
  }
  OK(MPI_Win_unlock_all(win));
  MPI_Barrier(MPI_COMM_WORLD);
  OK(MPI_Win_detach(win, memory));
  OK(MPI_Win_free(&win));
}

/* Operations complete although the target is not in the library: it leaves its loop when each other rank has
   come back from its first epoch and changed the window once more. */
static void computing_target(void) {
  MPI_Win win;
  long* base;
  OK(MPI_Win_allocate(sizeof(long), sizeof(long), MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
  *base = 0;
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    const volatile long* sum = base;
    const time_t end = time(NULL) + kLimitSeconds;
    while (*sum != 2 * (size - 1) && time(NULL) < end) {
    }
    CHECK(*sum == 2 * (size - 1));
  } else {
    for (int epoch = 0; epoch < 2; epoch++) {
      long one = 1, old;
      OK(MPI_Win_lock(MPI_LOCK_SHARED, 0, 0, win));
      OK(MPI_Fetch_and_op(&one, &old, MPI_LONG, 0, 0, MPI_SUM, win));
      OK(MPI_Win_unlock(0, win));
    }
  }
  MPI_Barrier(MPI_COMM_WORLD);
  OK(MPI_Win_free(&win));
}

int main(int argc, char** argv) {
  MPI_Win win;
  double memory[8], *base;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  OK(MPI_Win_create(memory, sizeof memory, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  predefined_attributes(win, memory, sizeof memory, 8, MPI_WIN_FLAVOR_CREATE);
  user_attributes(win);
  names_and_handlers(win);
  OK(MPI_Win_free(&win));
  CHECK(deleted == 17);
  OK(MPI_Win_allocate_c(80, 8, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
  predefined_attributes(win, base, 80, 8, MPI_WIN_FLAVOR_ALLOCATE);
  OK(MPI_Win_free(&win));
  OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &win));
  predefined_attributes(win, MPI_BOTTOM, 0, 1, MPI_WIN_FLAVOR_DYNAMIC);
  OK(MPI_Win_free(&win));
  shared_memory();
  empty_windows();
  dynamic_memory();
  computing_target();
  return check_finalize();
}
