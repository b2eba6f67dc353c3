/* SPDX-License-Identifier: BSD-3-Clause */
/* rma_killed CASE: rank 1 ends in the middle of an epoch. Calls of the others that need it return an error
   that names it; no call hangs. put get fence lock holder unlock start wait request */
#include <signal.h>
#include <unistd.h>
#include "check.h"
#include "survivors.h"

enum { kCount = 1 << 16 };

static int names_rank_1(int code) {
  char text[MPI_MAX_ERROR_STRING];
  int length, class = -1;
  MPI_Error_class(code, &class);
  MPI_Error_string(code, text, &length);
  if (class != MPI_ERR_PROC_ABORTED || strstr(text, "rank 1") == NULL)
    printf("the error is %d: %s\n", class, text);
  return class == MPI_ERR_PROC_ABORTED && strstr(text, "rank 1") != NULL;
}

int main(int argc, char** argv) {
  static int memory[kCount], buffer[kCount];
  const char* what = argc > 1 ? argv[1] : "put";
  int rank, code = MPI_SUCCESS, i;
  MPI_Win win;
  MPI_Group world, one;
  MPI_Request request;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &win);
  MPI_Win_set_errhandler(win, MPI_ERRORS_RETURN);
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_incl(world, 1, &(int){1}, &one);
  const int holds = strcmp(what, "holder") == 0 || strcmp(what, "unlock") == 0;
  if (rank == 1 && holds) {
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    MPI_Put(buffer, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
    MPI_Win_flush(0, win);
  }
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) {
    usleep(50000);
    kill(getpid(), SIGKILL);
  }
  if (strcmp(what, "fence") == 0) {
    code = MPI_Win_fence(0, win);
  } else if (strcmp(what, "start") == 0) {
    code = MPI_Win_start(one, 0, win);
  } else if (strcmp(what, "wait") == 0) {
    MPI_Win_post(one, 0, win);
    code = MPI_Win_wait(win);
  } else if (holds) {
    if (rank == 0) usleep(10000);
    code = MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, win);
    if (code == MPI_SUCCESS && strcmp(what, "unlock") == 0) { /* nothing has waited for the lock yet */
      code = MPI_Put(buffer, 1, MPI_INT, 0, 0, 1, MPI_INT, win);
      if (code == MPI_SUCCESS) code = MPI_Win_unlock(0, win);
    }
    if (code == MPI_SUCCESS) code = MPI_Get(buffer, kCount, MPI_INT, 0, 0, kCount, MPI_INT, win);
  } else {
    code = MPI_Win_lock(MPI_LOCK_SHARED, 1, 0, win);
    for (i = 0; i < 100000 && code == MPI_SUCCESS; i++) {
      if (strcmp(what, "get") == 0) {
        code = MPI_Get(buffer, kCount, MPI_INT, 1, 0, kCount, MPI_INT, win);
      } else if (strcmp(what, "request") == 0) {
        code = MPI_Rget_accumulate(buffer, 100, MPI_INT, buffer + 100, 100, MPI_INT, 1, 0, 100, MPI_INT,
                                   MPI_SUM, win, &request);
        if (code == MPI_SUCCESS && MPI_Wait(&request, MPI_STATUS_IGNORE) != MPI_SUCCESS) {
          code = MPI_Win_flush(1, win);
          if (code == MPI_SUCCESS) code = MPI_Accumulate(buffer, 1, MPI_INT, 1, 0, 1, MPI_INT, MPI_SUM, win);
        }
      } else {
        code = MPI_Put(buffer, i % 2 ? kCount : 1, MPI_INT, 1, 0, i % 2 ? kCount : 1, MPI_INT, win);
      }
      if (code == MPI_SUCCESS) code = MPI_Win_flush(1, win);
      if (strcmp(what, "lock") == 0 && code == MPI_SUCCESS) {
        code = MPI_Win_unlock(1, win);
        if (code == MPI_SUCCESS) code = MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 1, 0, win);
      }
    }
  }
  end_with_the_other(rank, names_rank_1(code));
}
