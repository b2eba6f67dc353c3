/* SPDX-License-Identifier: BSD-3-Clause */
/* io_killed CASE: rank 1 ends while files are accessed together. Calls of the others return an error that
   says so; no call hangs. blocking nonblocking split behind late: in the middle of an access */
#include <signal.h>
#include <unistd.h>

#include "check.h"
#include "io_path.h"
#include "survivors.h"

enum { kInts = 1 << 16, kOutstanding = 3 };

static MPI_File open_interleaved(int rank, int size) {
  MPI_Datatype column;
  MPI_Info info;
  MPI_File fh;
  MPI_Info_create(&info);
  MPI_Info_set(info, "romio_cb_write", "enable");
  MPI_Info_set(info, "cb_buffer_size", "65536");
  MPI_File_open(MPI_COMM_WORLD, io_path, MPI_MODE_CREATE | MPI_MODE_RDWR, info, &fh);
  MPI_Type_create_resized(MPI_INT, 0, size * (MPI_Aint)sizeof(int), &column);
  MPI_Type_commit(&column);
  MPI_File_set_view(fh, rank * (MPI_Offset)sizeof(int), MPI_INT, column, "native", info);
  MPI_Info_free(&info);
  return fh;
}

static int write_once(MPI_File fh, const char* what, const int* values) {
  MPI_Request requests[kOutstanding];
  int i, code = MPI_SUCCESS, one;
  if (strcmp(what, "blocking") == 0)
    return MPI_File_write_at_all(fh, 0, values, kInts, MPI_INT, MPI_STATUS_IGNORE);
  if (strcmp(what, "split") == 0) {
    MPI_File_write_at_all_begin(fh, 0, values, kInts, MPI_INT);
    return MPI_File_write_at_all_end(fh, values, MPI_STATUS_IGNORE);
  }
  for (i = 0; i < kOutstanding; i++)
    MPI_File_iwrite_at_all(fh, (MPI_Offset)i * kInts, values, kInts, MPI_INT, &requests[i]);
  if (strcmp(what, "behind") == 0) code = MPI_File_sync(fh);
  for (i = 0; i < kOutstanding; i++) {
    one = MPI_Wait(&requests[i], MPI_STATUS_IGNORE);
    if (code == MPI_SUCCESS) code = one;
  }
  return code;
}

int main(int argc, char** argv) {
  static int values[kInts];
  const char* what = argc > 1 ? argv[1] : "blocking";
  int rank, size, code = MPI_SUCCESS, class, i;
  MPI_File fh;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  make_io_path("io_killed");
  fh = open_interleaved(rank, size);
  if (rank == 0) unlink(io_path); /* the file stays until the last rank ends */
  MPI_Barrier(MPI_COMM_WORLD);
  for (i = 0; i < 100000 && code == MPI_SUCCESS; i++) {
    if (rank == 1 && i == 3 && strcmp(what, "late") != 0) kill(getpid(), SIGKILL);
    if (rank == 1 && i == 3) ualarm(1000, 0);
    code = write_once(fh, what, values);
  }
  MPI_Error_class(code, &class);
  if (class != MPI_ERR_PROC_ABORTED) printf("the error is of class %d\n", class);
  end_with_the_other(rank, class == MPI_ERR_PROC_ABORTED);
}
