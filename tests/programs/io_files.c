/* SPDX-License-Identifier: BSD-3-Clause */
/* Files: modes, sizes, pointers, views, representations, hints, groups; values that programs rely on. */
#include "check.h"
#include "io_path.h"

static int rank, size;

static MPI_File open_file(int amode) {
  MPI_File fh = MPI_FILE_NULL;
  OK(MPI_File_open(MPI_COMM_WORLD, io_path, amode, MPI_INFO_NULL, &fh));
  return fh;
}

static void modes_and_sizes(void) {
  MPI_File fh = open_file(MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR);
  MPI_Group group, world;
  MPI_Offset bytes;
  int amode, flag, result;
  OK(MPI_File_get_amode(fh, &amode));
  CHECK(amode == (MPI_MODE_CREATE | MPI_MODE_EXCL | MPI_MODE_RDWR));
  OK(MPI_File_get_size(fh, &bytes));
  CHECK(bytes == 0);
  MPI_Barrier(MPI_COMM_WORLD);
  OK(MPI_File_set_size(fh, 1000));
  OK(MPI_File_get_size(fh, &bytes));
  CHECK(bytes == 1000);
  MPI_Barrier(MPI_COMM_WORLD);
  OK(MPI_File_preallocate(fh, 500)); /* does not make it shorter */
  OK(MPI_File_get_size(fh, &bytes));
  CHECK(bytes == 1000);
  MPI_Barrier(MPI_COMM_WORLD);
  OK(MPI_File_preallocate(fh, 5000));
  OK(MPI_File_get_size(fh, &bytes));
  CHECK(bytes == 5000);
  OK(MPI_File_get_atomicity(fh, &flag));
  CHECK(flag == 0);
  OK(MPI_File_set_atomicity(fh, 1));
  OK(MPI_File_get_atomicity(fh, &flag));
  CHECK(flag == 1);
  OK(MPI_File_get_group(fh, &group));
  MPI_Comm_group(MPI_COMM_WORLD, &world);
  MPI_Group_compare(group, world, &result);
  CHECK(result == MPI_IDENT);
  MPI_Group_free(&group);
  MPI_Group_free(&world);
  OK(MPI_File_sync(fh));
  CHECK(MPI_File_f2c(MPI_File_c2f(fh)) == fh);
  OK(MPI_File_close(&fh));
  CHECK(fh == MPI_FILE_NULL);
}

static void append(void) {
  MPI_File fh = open_file(MPI_MODE_WRONLY | MPI_MODE_APPEND);
  MPI_Offset at;
  OK(MPI_File_get_position(fh, &at));
  CHECK(at == 5000);
  OK(MPI_File_get_position_shared(fh, &at));
  CHECK(at == 5000);
  OK(MPI_File_close(&fh));
}

static void pointers(void) {
  MPI_File fh = open_file(MPI_MODE_RDWR);
  int values[3] = {rank, rank + 1, rank + 2}, got[3] = {0, 0, 0}, count;
  MPI_Offset at;
  MPI_Status status;
  OK(MPI_File_set_view(fh, 16, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  OK(MPI_File_seek(fh, 3 * rank, MPI_SEEK_SET));
  OK(MPI_File_write(fh, values, 3, MPI_INT, &status));
  MPI_Get_count(&status, MPI_INT, &count);
  CHECK(count == 3);
  OK(MPI_File_get_position(fh, &at));
  CHECK(at == 3 * rank + 3);
  OK(MPI_File_get_byte_offset(fh, at, &at));
  CHECK(at == 16 + 4 * (3 * rank + 3));
  OK(MPI_File_seek(fh, -3, MPI_SEEK_CUR));
  OK(MPI_File_read(fh, got, 3, MPI_INT, &status));
  CHECK(memcmp(got, values, sizeof got) == 0);
  MPI_Barrier(MPI_COMM_WORLD);
  OK(MPI_File_seek(fh, 0, MPI_SEEK_END));
  OK(MPI_File_get_position(fh, &at));
  CHECK(at == (5000 - 16) / 4);
  OK(MPI_File_read(fh, got, 3, MPI_INT, &status));
  MPI_Get_count(&status, MPI_INT, &count);
  CHECK(count == 0);
  OK(MPI_File_seek(fh, -1, MPI_SEEK_END));
  OK(MPI_File_read(fh, got, 3, MPI_INT, &status));
  MPI_Get_count(&status, MPI_INT, &count);
  CHECK(count == 1);
  OK(MPI_File_seek_shared(fh, 5, MPI_SEEK_SET));
  OK(MPI_File_get_position_shared(fh, &at));
  CHECK(at == 5);
  MPI_Barrier(MPI_COMM_WORLD);
  OK(MPI_File_seek_shared(fh, -2, MPI_SEEK_CUR));
  OK(MPI_File_get_position_shared(fh, &at));
  CHECK(at == 3);
  MPI_Barrier(MPI_COMM_WORLD);
  OK(MPI_File_close(&fh));
}

/* Ranks that wait for the lock of atomic mode and for the shared pointer while others are in a collective. */
static void shared_pointer_in_atomic_mode(void) {
  MPI_File fh = open_file(MPI_MODE_RDWR);
  MPI_Status status;
  MPI_Offset at;
  int i, got;
  OK(MPI_File_set_atomicity(fh, 1));
  OK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  for (i = 0; i < 20; i++) {
    MPI_Request requests[2];
    OK(MPI_File_iwrite_shared(fh, &rank, 1, MPI_INT, &requests[0]));
    OK(MPI_File_iwrite_shared(fh, &rank, 1, MPI_INT, &requests[1]));
    OK(MPI_Waitall(2, requests, MPI_STATUSES_IGNORE));
    OK(MPI_File_write_ordered(fh, &rank, 1, MPI_INT, &status));
  }
  MPI_Barrier(MPI_COMM_WORLD);
  OK(MPI_File_get_position_shared(fh, &at));
  CHECK(at == 20 * 3 * size);
  OK(MPI_File_read_at(fh, 19 * 3 * size + 2 * size + rank, &got, 1, MPI_INT, &status));
  CHECK(got == rank);
  MPI_Barrier(MPI_COMM_WORLD);
  OK(MPI_File_close(&fh));
}

/* A view of every `size`-th integer, and one that is set again. */
static void views(void) {
  MPI_File fh = open_file(MPI_MODE_RDWR);
  MPI_Datatype column, etype, filetype;
  MPI_Offset disp;
  MPI_Status status;
  char datarep[MPI_MAX_DATAREP_STRING];
  int i, values[50], all[50], combiner, n1, n2, n3;
  MPI_Type_vector(50, 1, size, MPI_INT, &column);
  MPI_Type_commit(&column);
  OK(MPI_File_set_view(fh, 4 * rank, MPI_INT, column, "native", MPI_INFO_NULL));
  MPI_Type_free(&column);
  for (i = 0; i < 50; i++) values[i] = 100 * rank + i;
  OK(MPI_File_write_all(fh, values, 50, MPI_INT, &status));
  OK(MPI_File_get_view(fh, &disp, &etype, &filetype, datarep));
  CHECK(disp == 4 * rank && etype == MPI_INT && strcmp(datarep, "native") == 0);
  MPI_Type_get_envelope(filetype, &n1, &n2, &n3, &combiner);
  CHECK(combiner == MPI_COMBINER_VECTOR);
  MPI_Type_free(&filetype);
  OK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  OK(MPI_File_read_at_all(fh, 0, all, 50, MPI_INT, &status));
  for (i = 0; i < 50; i++) CHECK(all[i] == 100 * (i % size) + i / size);
  OK(MPI_File_close(&fh));
}

static void representations(void) {
  MPI_File fh = open_file(MPI_MODE_RDWR);
  const int values[2] = {0x01020304, -2};
  const long wide[2] = {70000, -5};
  unsigned char bytes[16];
  int got[2];
  long got_wide[2];
  MPI_Aint extent;
  MPI_Status status;
  if (rank != 0) memset(bytes, 0, sizeof bytes);
  OK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "external32", MPI_INFO_NULL));
  OK(MPI_File_write_at_all(fh, 0, values, rank == 0 ? 2 : 0, MPI_INT, &status));
  OK(MPI_File_read_at_all(fh, 0, got, 2, MPI_INT, &status));
  CHECK(memcmp(got, values, sizeof got) == 0);
  OK(MPI_File_get_type_extent(fh, MPI_LONG, &extent));
  CHECK(extent == 4);
  OK(MPI_File_set_view(fh, 8, MPI_LONG, MPI_LONG, "external32", MPI_INFO_NULL));
  OK(MPI_File_write_at_all(fh, 0, wide, rank == 0 ? 2 : 0, MPI_LONG, &status));
  OK(MPI_File_read_at_all(fh, 1, got_wide, 1, MPI_LONG, &status));
  CHECK(got_wide[0] == -5);
  OK(MPI_File_set_view(fh, 0, MPI_BYTE, MPI_BYTE, "native", MPI_INFO_NULL));
  OK(MPI_File_read_at_all(fh, 0, bytes, 16, MPI_BYTE, &status));
  CHECK(bytes[0] == 1 && bytes[3] == 4 && bytes[7] == 0xfe && bytes[9] == 1 && bytes[11] == 0x70);
  OK(MPI_File_close(&fh));
}

/* A representation of the program: every int is written with its sign changed. */
static int int_extent(MPI_Datatype type, MPI_Aint* extent, void* extra) {
  (void)extra;
  *extent = type == MPI_INT ? 4 : 1;
  return MPI_SUCCESS;
}
static int negate_out(void* user, MPI_Datatype type, int count, void* file, MPI_Offset position,
                      void* extra) {
  int i;
  (void)type, (void)position;
  ++*(int*)extra;
  for (i = 0; i < count; i++) ((int*)file)[i] = -((int*)user)[i];
  return MPI_SUCCESS;
}
static int negate_in(void* user, MPI_Datatype type, int count, void* file, MPI_Offset position, void* extra) {
  int i;
  (void)type, (void)position;
  ++*(int*)extra;
  for (i = 0; i < count; i++) ((int*)user)[i] = -((int*)file)[i];
  return MPI_SUCCESS;
}
static void own_representation(void) {
  static int calls;
  MPI_File fh = open_file(MPI_MODE_RDWR);
  int values[2] = {5, -6}, got[2];
  OK(MPI_Register_datarep("negated", negate_in, negate_out, int_extent, &calls));
  CHECK_CLASS(MPI_Register_datarep("negated", negate_in, negate_out, int_extent, &calls),
              MPI_ERR_DUP_DATAREP);
  OK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "negated", MPI_INFO_NULL));
  OK(MPI_File_write_at(fh, 2 * rank, values, 2, MPI_INT, MPI_STATUS_IGNORE));
  OK(MPI_File_read_at(fh, 2 * rank, got, 2, MPI_INT, MPI_STATUS_IGNORE));
  CHECK(memcmp(got, values, sizeof got) == 0 && calls == 2);
  OK(MPI_File_set_view(fh, 0, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  OK(MPI_File_read_at(fh, 2 * rank, got, 2, MPI_INT, MPI_STATUS_IGNORE));
  CHECK(got[0] == -5 && got[1] == 6);
  OK(MPI_File_close(&fh));
}

static void hints(void) {
  MPI_File fh;
  MPI_Info info, used;
  char value[64];
  int flag;
  MPI_Info_create(&info);
  MPI_Info_set(info, "cb_buffer_size", "65536");
  MPI_Info_set(info, "romio_ds_write", "disable");
  MPI_Info_set(info, "no_such_hint", "1");
  OK(MPI_File_open(MPI_COMM_WORLD, io_path, MPI_MODE_RDONLY, info, &fh));
  MPI_Info_set(info, "cb_nodes", "1");
  OK(MPI_File_set_info(fh, info));
  MPI_Info_free(&info);
  OK(MPI_File_get_info(fh, &used));
  MPI_Info_get(used, "cb_buffer_size", 63, value, &flag);
  CHECK(flag && strcmp(value, "65536") == 0);
  MPI_Info_get(used, "cb_nodes", 63, value, &flag);
  CHECK(flag && strcmp(value, "1") == 0);
  MPI_Info_get(used, "romio_ds_write", 63, value, &flag);
  CHECK(flag && strcmp(value, "disable") == 0);
  MPI_Info_get(used, "romio_cb_read", 63, value, &flag);
  CHECK(flag && strcmp(value, "automatic") == 0);
  MPI_Info_get(used, "no_such_hint", 63, value, &flag);
  CHECK(!flag);
  MPI_Info_free(&used);
  OK(MPI_File_close(&fh));
}

/* Offsets beyond 32 bits, and a file with a hole. */
static void far_offsets(void) {
  MPI_File fh = open_file(MPI_MODE_RDWR);
  const MPI_Offset far = ((MPI_Offset)5 << 30) + 8 * rank;
  long long value = 77 + rank, got = 0;
  MPI_Offset bytes;
  OK(MPI_File_write_at_all(fh, far, &value, 1, MPI_LONG_LONG, MPI_STATUS_IGNORE));
  OK(MPI_File_read_at_c(fh, far, &got, 1, MPI_LONG_LONG, MPI_STATUS_IGNORE));
  CHECK(got == value);
  MPI_Barrier(MPI_COMM_WORLD);
  OK(MPI_File_get_size(fh, &bytes));
  CHECK(bytes == ((MPI_Offset)5 << 30) + 8 * size);
  OK(MPI_File_close(&fh));
}

static void sequential(void) {
  MPI_File fh;
  int value = 9;
  OK(MPI_File_open(MPI_COMM_WORLD, io_path, MPI_MODE_WRONLY | MPI_MODE_SEQUENTIAL, MPI_INFO_NULL, &fh));
  CHECK_CLASS(MPI_File_write_at(fh, 0, &value, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_UNSUPPORTED_OPERATION);
  CHECK_CLASS(MPI_File_write(fh, &value, 1, MPI_INT, MPI_STATUS_IGNORE), MPI_ERR_UNSUPPORTED_OPERATION);
  OK(MPI_File_write_ordered(fh, &value, 1, MPI_INT, MPI_STATUS_IGNORE));
  OK(MPI_File_set_view(fh, MPI_DISPLACEMENT_CURRENT, MPI_INT, MPI_INT, "native", MPI_INFO_NULL));
  OK(MPI_File_write_ordered(fh, &rank, 1, MPI_INT, MPI_STATUS_IGNORE));
  OK(MPI_File_close(&fh));
  fh = open_file(MPI_MODE_RDONLY);
  OK(MPI_File_read_at(fh, 4 * size + 4 * rank, &value, 4, MPI_BYTE, MPI_STATUS_IGNORE));
  CHECK(value == rank);
  OK(MPI_File_close(&fh));
}

static void deleting(void) {
  MPI_File fh = open_file(MPI_MODE_RDONLY | MPI_MODE_DELETE_ON_CLOSE);
  MPI_Barrier(MPI_COMM_WORLD);
  OK(MPI_File_close(&fh));
  CHECK(access(io_path, F_OK) != 0);
  MPI_Barrier(MPI_COMM_WORLD);
  fh = open_file(MPI_MODE_CREATE | MPI_MODE_WRONLY);
  OK(MPI_File_close(&fh));
  if (rank == 0) OK(MPI_File_delete(io_path, MPI_INFO_NULL));
  if (rank == 0) CHECK_CLASS(MPI_File_delete(io_path, MPI_INFO_NULL), MPI_ERR_NO_SUCH_FILE);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  make_io_path("io_files");
  modes_and_sizes();
  append();
  pointers();
  shared_pointer_in_atomic_mode();
  views();
  representations();
  own_representation();
  hints();
  far_offsets();
  sequential();
  deleting();
  return check_finalize();
}
