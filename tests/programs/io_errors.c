/* SPDX-License-Identifier: BSD-3-Clause */
/* Wrong arguments, modes and files: each gives its class at every rank, with the call, the argument or the
   file in the text; no rank waits, and the file stays usable. */
#include <sys/stat.h>

#include "check.h"
#include "io_path.h"

static int rank, size, calls, last_code;

static void text_has(int code, const char* words) {
  char text[MPI_MAX_ERROR_STRING];
  int length;
  MPI_Error_string(code, text, &length);
  CHECK(strstr(text, words) != NULL);
}

static void count_call(MPI_File* fh, int* code, ...) {
  (void)fh;
  calls++;
  last_code = *code;
}

static int open_code(const char* path, int amode) {
  MPI_File fh = MPI_FILE_NULL;
  const int code = MPI_File_open(MPI_COMM_WORLD, path, amode, MPI_INFO_NULL, &fh);
  CHECK(code != MPI_SUCCESS || fh != MPI_FILE_NULL);
  if (code == MPI_SUCCESS) MPI_File_close(&fh);
  return code;
}

static void opening(void) {
  char inside[300];
  int code;
  CHECK_CLASS(open_code(io_path, MPI_MODE_RDONLY), MPI_ERR_NO_SUCH_FILE);
  CHECK_CLASS(open_code(io_path, MPI_MODE_RDONLY | MPI_MODE_RDWR), MPI_ERR_AMODE);
  CHECK_CLASS(open_code(io_path, MPI_MODE_CREATE), MPI_ERR_AMODE);
  CHECK_CLASS(open_code(io_path, MPI_MODE_RDONLY | MPI_MODE_CREATE), MPI_ERR_AMODE);
  CHECK_CLASS(open_code(io_path, MPI_MODE_RDWR | MPI_MODE_SEQUENTIAL), MPI_ERR_AMODE);
  CHECK_CLASS(open_code(io_path, MPI_MODE_RDWR | (1 << 20)), MPI_ERR_AMODE);
  snprintf(inside, sizeof inside, "%s/no/such/directory", io_path);
  code = open_code(inside, MPI_MODE_CREATE | MPI_MODE_RDWR);
  CHECK_CLASS(code, MPI_ERR_NO_SUCH_FILE);
  text_has(code, "MPI_File_open");
  text_has(code, inside);
  OK(open_code(io_path, MPI_MODE_CREATE | MPI_MODE_RDWR));
  MPI_Barrier(MPI_COMM_WORLD);
  CHECK_CLASS(open_code(io_path, MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR), MPI_ERR_FILE_EXISTS);
  snprintf(inside, sizeof inside, "%s/file", io_path);
  CHECK_CLASS(open_code(inside, MPI_MODE_CREATE | MPI_MODE_RDWR), MPI_ERR_BAD_FILE);
  CHECK_CLASS(open_code("/tmp", MPI_MODE_RDWR), MPI_ERR_BAD_FILE);
  if (geteuid() != 0) {
    if (rank == 0) chmod(io_path, 0);
    MPI_Barrier(MPI_COMM_WORLD);
    CHECK_CLASS(open_code(io_path, MPI_MODE_RDWR), MPI_ERR_ACCESS);
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0) chmod(io_path, 0666);
    MPI_Barrier(MPI_COMM_WORLD);
  }
  if (size > 1)
    CHECK_CLASS(open_code(io_path, rank == 1 ? MPI_MODE_RDONLY : MPI_MODE_RDWR), MPI_ERR_NOT_SAME);
  CHECK_CLASS(MPI_File_open(MPI_COMM_NULL, io_path, MPI_MODE_RDWR, MPI_INFO_NULL, (MPI_File*)inside),
              MPI_ERR_COMM);
}

static void modes(void) {
  MPI_File fh;
  int value = 1, code;
  OK(MPI_File_open(MPI_COMM_WORLD, io_path, MPI_MODE_RDONLY, MPI_INFO_NULL, &fh));
  code = MPI_File_write_at(fh, 0, &value, 1, MPI_INT, MPI_STATUS_IGNORE);
  CHECK_CLASS(code, MPI_ERR_READ_ONLY);
  text_has(code, io_path);
  CHECK_CLASS(MPI_File_write_all(fh, &value, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_READ_ONLY);
  CHECK_CLASS(MPI_File_set_size(fh, 5), MPI_ERR_READ_ONLY);
  CHECK_CLASS(MPI_File_preallocate(fh, 5), MPI_ERR_READ_ONLY);
  OK(MPI_File_close(&fh));
  OK(MPI_File_open(MPI_COMM_WORLD, io_path, MPI_MODE_WRONLY, MPI_INFO_NULL, &fh));
  CHECK_CLASS(MPI_File_read_at(fh, 0, &value, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_ACCESS);
  CHECK_CLASS(MPI_File_read_ordered(fh, &value, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_ACCESS);
  OK(MPI_File_close(&fh));
}

static void arguments(void) {
  MPI_File fh;
  MPI_Datatype back, loose;
  MPI_Offset at;
  MPI_Request request;
  const int blocks[2] = {1, 1}, places[2] = {3, 0};
  int value = 1, code;
  OK(MPI_File_open(MPI_COMM_WORLD, io_path, MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
  CHECK_CLASS(MPI_File_write_at(fh, -1, &value, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_ARG);
  CHECK_CLASS(MPI_File_write_at(fh, 0, &value, -1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_File_write_at(fh, 0, &value, 1, MPI_DATATYPE_NULL, MPI_STATUS_IGNORE), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_File_write_at(fh, 0, NULL, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_File_iread(fh, &value, -1, MPI_INT, &request), MPI_ERR_COUNT);
  /* One rank is wrong: all of them hear of it, and none waits. */
  code = MPI_File_write_at_all(fh, 0, &value, rank == size - 1 ? -1 : 1, MPI_INT, MPI_STATUS_IGNORE);
  CHECK_CLASS(code, MPI_ERR_COUNT);
  if (rank != size - 1) text_has(code, "rank ");
  CHECK_CLASS(
      MPI_File_iwrite_at_all(fh, 0, &value, rank == size - 1 ? -1 : 1, MPI_INT, &request) == MPI_SUCCESS
          ? MPI_Wait(&request, MPI_STATUS_IGNORE)
          : MPI_ERR_OTHER,
      MPI_ERR_COUNT);
  CHECK_CLASS(MPI_File_seek(fh, -1, MPI_SEEK_SET), MPI_ERR_ARG);
  CHECK_CLASS(MPI_File_seek(fh, 0, 12345), MPI_ERR_ARG);
  OK(MPI_File_get_position(fh, &at));
  CHECK(at == 0);
  if (size > 1) {
    CHECK_CLASS(MPI_File_set_size(fh, rank == 1 ? 5 : 6), MPI_ERR_NOT_SAME);
    CHECK_CLASS(MPI_File_seek_shared(fh, rank == 1 ? 5 : 6, MPI_SEEK_SET), MPI_ERR_NOT_SAME);
    CHECK_CLASS(MPI_File_set_atomicity(fh, rank == 1), MPI_ERR_NOT_SAME);
  }
  CHECK_CLASS(MPI_File_set_size(fh, -1), MPI_ERR_ARG);
  CHECK_CLASS(MPI_File_set_view(fh, -5, MPI_INT, MPI_INT, "native", MPI_INFO_NULL), MPI_ERR_ARG);
  CHECK_CLASS(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "no such thing", MPI_INFO_NULL),
              MPI_ERR_UNSUPPORTED_DATAREP);
  MPI_Type_indexed(2, blocks, places, MPI_INT, &back);
  MPI_Type_dup(back, &loose);
  MPI_Type_commit(&back);
  CHECK_CLASS(MPI_File_set_view(fh, 0, MPI_INT, back, "native", MPI_INFO_NULL), MPI_ERR_IO);
  CHECK_CLASS(MPI_File_set_view(fh, 0, MPI_INT, loose, "native", MPI_INFO_NULL), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_File_set_view(fh, 0, MPI_DOUBLE, MPI_INT, "native", MPI_INFO_NULL), MPI_ERR_ARG);
  MPI_Type_free(&back);
  MPI_Type_free(&loose);
  OK(MPI_File_set_view(fh, 0, MPI_DOUBLE, MPI_DOUBLE, "native", MPI_INFO_NULL));
  CHECK_CLASS(MPI_File_write_at(fh, 0, &value, 1, MPI_INT, MPI_STATUS_IGNORE),
              MPI_ERR_IO); /* half an etype */
  CHECK_CLASS(MPI_File_write_all_end(fh, &value, MPI_STATUS_IGNORE), MPI_ERR_OTHER);
  OK(MPI_File_write_at_all_begin(fh, 0, &value, 0, MPI_INT));
  CHECK_CLASS(MPI_File_read_all_begin(fh, &value, 0, MPI_INT), MPI_ERR_OTHER);
  OK(MPI_File_write_at_all_end(fh, &value, MPI_STATUS_IGNORE));
  OK(MPI_File_close(&fh));
  CHECK_CLASS(MPI_File_close(&fh), MPI_ERR_FILE);
  CHECK_CLASS(MPI_File_sync((MPI_File)(uintptr_t)123456), MPI_ERR_FILE);
}

/* Writes to /dev/full fail with ENOSPC. */
static void no_space(void) {
  MPI_File fh;
  static char data[100000];
  if (MPI_File_open(MPI_COMM_WORLD, "/dev/full", MPI_MODE_WRONLY, MPI_INFO_NULL, &fh) != MPI_SUCCESS) return;
  CHECK_CLASS(MPI_File_write_at(fh, 0, data, 10, MPI_CHAR, MPI_STATUS_IGNORE), MPI_ERR_NO_SPACE);
  CHECK_CLASS(MPI_File_write_at_all(fh, 0, data, rank == 0 ? 10 : 0, MPI_CHAR, MPI_STATUS_IGNORE),
              MPI_ERR_NO_SPACE);
  CHECK_CLASS(MPI_File_write_ordered(fh, data, rank == size - 1 ? 10 : 0, MPI_CHAR, MPI_STATUS_IGNORE),
              MPI_ERR_NO_SPACE);
  OK(MPI_File_close(&fh));
}

static void handlers(void) {
  MPI_Errhandler own, got;
  MPI_File fh;
  OK(MPI_File_get_errhandler(MPI_FILE_NULL, &got));
  CHECK(got == MPI_ERRORS_RETURN);
  OK(MPI_File_create_errhandler(count_call, &own));
  OK(MPI_File_set_errhandler(MPI_FILE_NULL, own));
  calls = 0;
  CHECK_CLASS(open_code("/no/such/file", MPI_MODE_RDONLY), MPI_ERR_NO_SUCH_FILE);
  CHECK(calls == 1 && last_code == MPI_ERR_NO_SUCH_FILE);
  CHECK_CLASS(MPI_File_delete("/no/such/file", MPI_INFO_NULL), MPI_ERR_NO_SUCH_FILE);
  CHECK(calls == 2);
  OK(MPI_File_open(MPI_COMM_WORLD, io_path, MPI_MODE_RDWR, MPI_INFO_NULL, &fh));
  CHECK_CLASS(MPI_File_seek(fh, -1, MPI_SEEK_SET), MPI_ERR_ARG); /* new files have that handler */
  CHECK(calls == 3);
  OK(MPI_File_set_errhandler(fh, MPI_ERRORS_RETURN));
  CHECK_CLASS(MPI_File_seek(fh, -1, MPI_SEEK_SET), MPI_ERR_ARG);
  CHECK(calls == 3);
  OK(MPI_File_set_errhandler(fh, own));
  OK(MPI_File_call_errhandler(fh, MPI_ERR_IO));
  CHECK(calls == 4 && last_code == MPI_ERR_IO);
  OK(MPI_File_close(&fh));
  OK(MPI_File_set_errhandler(MPI_FILE_NULL, MPI_ERRORS_RETURN));
  MPI_Errhandler_free(&own);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  make_io_path("io_errors");
  opening();
  modes();
  arguments();
  no_space();
  handlers();
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) OK(MPI_File_delete(io_path, MPI_INFO_NULL));
  return check_finalize();
}
