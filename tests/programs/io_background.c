/* SPDX-License-Identifier: BSD-3-Clause */
/* Long nonblocking transfers of files go on while the program sends messages: data, counts, freed types. */
#include "check.h"
#include "io_path.h"

enum { INTS = 100000, PARTS = 4 }; /* long enough for the thread of the file */

static int rank, size;

static MPI_Offset part_at(int part) {
  return ((MPI_Offset)part * size + rank) * INTS * 2 * (MPI_Offset)sizeof(int);
}

static void fill(int* values, int part) {
  int i;
  for (i = 0; i < 2 * INTS; i++) values[i] = i % 2 ? -1 : rank * 7919 + part * 104729 + i;
}

static void pass_round(void) {
  int there = rank, here = -1;
  MPI_Sendrecv(&there, 1, MPI_INT, (rank + 1) % size, 3, &here, 1, MPI_INT, (rank + size - 1) % size, 3,
               MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  CHECK(here == (rank + size - 1) % size);
}

static void write_parts(MPI_File fh, int* values) {
  MPI_Request requests[PARTS];
  MPI_Status statuses[PARTS];
  int part, count;
  for (part = 0; part < PARTS; part++) {
    MPI_Datatype sparse; /* every second integer; freed while the transfer goes on */
    fill(values + part * 2 * INTS, part);
    MPI_Type_vector(INTS, 1, 2, MPI_INT, &sparse);
    MPI_Type_commit(&sparse);
    OK(MPI_File_iwrite_at(fh, part_at(part), values + part * 2 * INTS, 1, sparse, &requests[part]));
    MPI_Type_free(&sparse);
    pass_round();
  }
  OK(MPI_Waitall(PARTS, requests, statuses));
  for (part = 0; part < PARTS; part++) {
    MPI_Get_count(&statuses[part], MPI_INT, &count);
    CHECK(count == INTS);
  }
}

static void read_parts(MPI_File fh, int* values, int* expected) {
  MPI_Request requests[PARTS];
  int part, i, flag = 0;
  for (i = 0; i < PARTS * 2 * INTS; i++) values[i] = -2;
  for (part = 0; part < PARTS; part++)
    OK(MPI_File_iread_at(fh, part_at(part), values + part * 2 * INTS, INTS, MPI_INT, &requests[part]));
  while (!flag) OK(MPI_Testall(PARTS, requests, &flag, MPI_STATUSES_IGNORE));
  for (part = 0; part < PARTS; part++) {
    int wrong = 0;
    fill(expected, part);
    for (i = 0; i < INTS; i++) wrong += values[part * 2 * INTS + i] != expected[2 * i];
    CHECK(wrong == 0);
  }
}

/* Individual pointers move at once; a read beyond the end is short. */
static void pointers_and_end(MPI_File fh, int* values) {
  MPI_Request requests[2];
  MPI_Status statuses[2];
  MPI_Offset bytes, at;
  int count;
  OK(MPI_File_get_size(fh, &bytes));
  OK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  OK(MPI_File_seek(fh, bytes / (MPI_Offset)sizeof(int) - INTS - 5, MPI_SEEK_SET));
  OK(MPI_File_iread(fh, values, INTS, MPI_INT, &requests[0]));
  OK(MPI_File_get_position(fh, &at));
  CHECK(at == bytes / (MPI_Offset)sizeof(int) - 5);
  OK(MPI_File_iread(fh, values + INTS, INTS, MPI_INT, &requests[1]));
  OK(MPI_Waitall(2, requests, statuses));
  MPI_Get_count(&statuses[0], MPI_INT, &count);
  CHECK(count == INTS);
  MPI_Get_count(&statuses[1], MPI_INT, &count);
  CHECK(count == 5);
}

int main(int argc, char** argv) {
  int* values = malloc(sizeof(int) * PARTS * 2 * INTS);
  int* expected = malloc(sizeof(int) * 2 * INTS);
  MPI_File fh;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  make_io_path("background");
  OK(MPI_File_open(MPI_COMM_WORLD, io_path, MPI_MODE_CREATE | MPI_MODE_RDWR | MPI_MODE_DELETE_ON_CLOSE,
                   MPI_INFO_NULL, &fh));
  write_parts(fh, values);
  read_parts(fh, values, expected);
  MPI_Barrier(MPI_COMM_WORLD); /* the size is that of all writes */
  pointers_and_end(fh, values);
  OK(MPI_File_close(&fh));
  free(values);
  free(expected);
  return check_finalize();
}
