/* SPDX-License-Identifier: BSD-3-Clause */
/* What could go wrong: a target that computes answers one-sided calls, and questions for a shared file
   pointer, only when its program calls MPI again: short ones, long ones, locks. The first of them may wait
   for a while. */
#include <unistd.h>

#include "check.h"

enum { kLongs = 1 << 17, kLimit = 100 };

static int rank, size;
static char file_name[64], end_name[80];

/* Until the last rank is done, which it says outside of MPI. */
static void compute(void) {
  volatile double x = 0;
  const double limit = MPI_Wtime() + kLimit;
  while (access(end_name, F_OK) != 0 && MPI_Wtime() < limit)
    for (int i = 0; i < 1000; ++i) x += i;
  CHECK(access(end_name, F_OK) == 0);
  unlink(end_name);
}

static void use(MPI_Win window, MPI_Aint at) {
  static long data[kLongs], back[kLongs];
  for (int i = 0; i < kLongs; ++i) data[i] = i;
  const long one = 1;
  long old = -1;
  OK(MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window));
  OK(MPI_Put(data, kLongs, MPI_LONG, 0, at, kLongs, MPI_LONG, window));
  OK(MPI_Win_flush(0, window));
  OK(MPI_Accumulate(&one, 1, MPI_LONG, 0, at, 1, MPI_LONG, MPI_SUM, window));
  OK(MPI_Fetch_and_op(&one, &old, MPI_LONG, 0, at, MPI_SUM, window));
  OK(MPI_Win_flush(0, window));
  CHECK(old == 1);
  OK(MPI_Get(back, kLongs, MPI_LONG, 0, at, kLongs, MPI_LONG, window));
  OK(MPI_Win_unlock(0, window));
  CHECK(back[0] == 2 && back[kLongs - 1] == kLongs - 1);
}

static void run(MPI_Win window, MPI_Aint at, MPI_File file) {
  OK(MPI_Barrier(MPI_COMM_WORLD));
  if (rank == 0 && size > 1) compute();
  if (rank == 0 || rank != size - 1) return;
  if (window != MPI_WIN_NULL) use(window, at);
  if (file != MPI_FILE_NULL) OK(MPI_File_write_shared(file, "line", 4, MPI_CHAR, MPI_STATUS_IGNORE));
  FILE* end = fopen(end_name, "w");
  CHECK(end != NULL && fclose(end) == 0);
}

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  snprintf(file_name, sizeof file_name, "/tmp/herald-rma-busy-%ld", (long)getpid());
  OK(MPI_Bcast(file_name, sizeof file_name, MPI_CHAR, 0, MPI_COMM_WORLD));
  snprintf(end_name, sizeof end_name, "%s.end", file_name);
  static long memory[kLongs];
  MPI_Win window;
  MPI_Aint at;
  OK(MPI_Win_create(memory, sizeof memory, sizeof *memory, MPI_INFO_NULL, MPI_COMM_WORLD, &window));
  run(window, 0, MPI_FILE_NULL);
  OK(MPI_Win_free(&window));
  memset(memory, 0, sizeof memory);
  OK(MPI_Win_create_dynamic(MPI_INFO_NULL, MPI_COMM_WORLD, &window));
  OK(MPI_Win_attach(window, memory, sizeof memory));
  OK(MPI_Get_address(memory, &at));
  OK(MPI_Bcast(&at, 1, MPI_AINT, 0, MPI_COMM_WORLD));
  run(window, at, MPI_FILE_NULL);
  OK(MPI_Win_detach(window, memory));
  OK(MPI_Win_free(&window));

  MPI_File file;
  OK(MPI_File_open(MPI_COMM_WORLD, file_name, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                   MPI_INFO_NULL, &file));
  run(MPI_WIN_NULL, 0, file);
  OK(MPI_File_close(&file));
  return check_finalize();
}
