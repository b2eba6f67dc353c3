/* SPDX-License-Identifier: BSD-3-Clause */
/* What could go wrong: packing loses its position, writes past the buffer, or cannot be read by another
   datatype of the same signature; external32 bytes differ from the standard's; element counts of partly
   received types are wrong; bad arguments pass. */
#include <stddef.h>
#include "check.h"

struct item {
  int a;
  double b[2];
  char c;
};

static MPI_Datatype item_type(void) {
  const int blocks[] = {1, 2, 1};
  const MPI_Aint at[] = {offsetof(struct item, a), offsetof(struct item, b), offsetof(struct item, c)};
  const MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE, MPI_CHAR};
  MPI_Datatype raw, type;
  OK(MPI_Type_create_struct(3, blocks, at, types, &raw));
  OK(MPI_Type_create_resized(raw, 0, sizeof(struct item), &type));
  OK(MPI_Type_free(&raw));
  OK(MPI_Type_commit(&type));
  return type;
}

static void check_pack(void) {
  struct item in[3] = {{1, {2, 3}, 'x'}, {4, {5, 6}, 'y'}, {7, {8, 9}, 'z'}}, out[3];
  char buffer[200];
  int position = 0, size, number = 77, i;
  MPI_Count large = 0, bytes;
  MPI_Datatype type = item_type();
  OK(MPI_Pack_size(3, type, MPI_COMM_WORLD, &size));
  CHECK(size >= 63 && size <= 100);
  OK(MPI_Pack_size_c(3, type, MPI_COMM_WORLD, &bytes));
  CHECK(bytes == size);
  memset(buffer, 0x5a, sizeof buffer);
  OK(MPI_Pack(&number, 1, MPI_INT, buffer, sizeof buffer, &position, MPI_COMM_WORLD));
  OK(MPI_Pack(in, 3, type, buffer, sizeof buffer, &position, MPI_COMM_WORLD));
  CHECK(buffer[position] == 0x5a);
  CHECK_CLASS(MPI_Pack(in, 3, type, buffer, position + 10, &position, MPI_COMM_WORLD), MPI_ERR_TRUNCATE);
  memset(out, 0, sizeof out);
  number = 0;
  OK(MPI_Unpack_c(buffer, position, &large, &number, 1, MPI_INT, MPI_COMM_WORLD));
  OK(MPI_Unpack_c(buffer, position, &large, out, 3, type, MPI_COMM_WORLD));
  CHECK(large == position && number == 77);
  for (i = 0; i < 3; i++)
    CHECK(out[i].a == in[i].a && out[i].b[0] == in[i].b[0] && out[i].b[1] == in[i].b[1] &&
          out[i].c == in[i].c);
  CHECK_CLASS(MPI_Unpack_c(buffer, position, &large, out, 1, MPI_INT, MPI_COMM_WORLD), MPI_ERR_TRUNCATE);
  size = -1;
  CHECK_CLASS(MPI_Unpack(buffer, 10, &size, out, 1, MPI_INT, MPI_COMM_WORLD), MPI_ERR_ARG);
  size = 0;
  CHECK_CLASS(MPI_Unpack(buffer, 10, &size, out, -1, MPI_INT, MPI_COMM_WORLD), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Pack(NULL, 1, MPI_INT, buffer, 100, &size, MPI_COMM_WORLD), MPI_ERR_BUFFER);
  CHECK(size == 0);
  OK(MPI_Pack(NULL, 0, MPI_INT, NULL, 0, &size, MPI_COMM_WORLD));
  OK(MPI_Type_free(&type));
}

static void check_external(void) {
  const struct item in[2] = {{0x01020304, {1.0, -2.0}, 'x'}, {-1, {0, 0.5}, 'y'}};
  struct item out[2];
  unsigned char buffer[64];
  static const unsigned char want[21] = {1, 2,    3, 4, 0x3f, 0xf0, 0, 0, 0, 0,  0,
                                         0, 0xc0, 0, 0, 0,    0,    0, 0, 0, 'x'};
  MPI_Aint size, position = 0;
  MPI_Count bytes, at = 0;
  const long big = 1L << 40, small = -5;
  long back = 0;
  MPI_Datatype type = item_type();
  OK(MPI_Pack_external_size("external32", 2, type, &size));
  CHECK(size == 42);
  OK(MPI_Pack_external_size_c("external32", 2, type, &bytes));
  CHECK(bytes == 42);
  OK(MPI_Pack_external("external32", in, 2, type, buffer, sizeof buffer, &position));
  CHECK(position == 42 && memcmp(buffer, want, sizeof want) == 0);
  memset(out, 0, sizeof out);
  OK(MPI_Unpack_external_c("external32", buffer, 42, &at, out, 2, type));
  CHECK(at == 42 && out[1].a == -1 && out[1].b[1] == 0.5 && out[1].c == 'y' && out[0].b[1] == -2.0);
  position = 0;
  OK(MPI_Pack_external("external32", &small, 1, MPI_LONG, buffer, sizeof buffer, &position));
  CHECK(position == 4);
  position = 0;
  OK(MPI_Unpack_external("external32", buffer, 4, &position, &back, 1, MPI_LONG));
  CHECK(back == -5);
  position = 0;
  CHECK_CLASS(MPI_Pack_external("external32", &big, 1, MPI_LONG, buffer, sizeof buffer, &position),
              MPI_ERR_CONVERSION);
  CHECK_CLASS(MPI_Pack_external("external32", in, 2, type, buffer, 41, &position), MPI_ERR_TRUNCATE);
  CHECK_CLASS(MPI_Pack_external("internal", in, 2, type, buffer, 64, &position), MPI_ERR_UNSUPPORTED_DATAREP);
  CHECK(position == 0);
  OK(MPI_Type_free(&type));
}

/* Counts in a status: 21 bytes of data an item, elements of 4, 8, 8 and 1 bytes. */
static void check_counts(void) {
  MPI_Status status;
  int count, elements, k;
  MPI_Count large;
  MPI_Datatype type = item_type();
  memset(&status, 0, sizeof status);
  for (k = 0; k <= 9; k++) {
    OK(MPI_Status_set_elements(&status, type, k));
    OK(MPI_Get_elements(&status, type, &elements));
    CHECK(elements == k);
    OK(MPI_Get_elements_x(&status, type, &large));
    CHECK(large == k);
    OK(MPI_Get_count(&status, type, &count));
    CHECK(count == (k % 4 == 0 ? k / 4 : MPI_UNDEFINED));
    OK(MPI_Get_count_c(&status, type, &large));
    CHECK(large == count);
  }
  OK(MPI_Status_set_elements_x(&status, MPI_BYTE, 6));
  OK(MPI_Get_elements(&status, type, &elements));
  CHECK(elements == MPI_UNDEFINED);
  OK(MPI_Get_elements(&status, MPI_SHORT_INT, &elements));
  CHECK(elements == 2);
  OK(MPI_Get_count(&status, MPI_SHORT, &count));
  CHECK(count == 3);
  CHECK_CLASS(MPI_Get_count(&status, MPI_DATATYPE_NULL, &count), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_Get_count(MPI_STATUS_IGNORE, MPI_INT, &count), MPI_ERR_ARG);
  OK(MPI_Type_free(&type));
}

static void check_errors(void) {
  MPI_Datatype t = MPI_DATATYPE_NULL, freed;
  const int bad[] = {1, -1}, good[] = {1, 1}, order = 999;
  CHECK_CLASS(MPI_Type_contiguous(-1, MPI_INT, &t), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Type_contiguous(1, MPI_DATATYPE_NULL, &t), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_Type_contiguous(1, MPI_INT, NULL), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Type_indexed(2, bad, good, MPI_INT, &t), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Type_indexed(2, NULL, good, MPI_INT, &t), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Type_create_subarray(1, (int[]){4}, (int[]){3}, (int[]){2}, MPI_ORDER_C, MPI_INT, &t),
              MPI_ERR_ARG);
  CHECK_CLASS(MPI_Type_create_subarray(1, (int[]){4}, (int[]){3}, (int[]){0}, order, MPI_INT, &t),
              MPI_ERR_ARG);
  CHECK_CLASS(MPI_Type_free(&t), MPI_ERR_TYPE);
  t = MPI_INT;
  CHECK_CLASS(MPI_Type_free(&t), MPI_ERR_TYPE);
  OK(MPI_Type_commit(&t));
  OK(MPI_Type_contiguous(2, MPI_INT, &t));
  CHECK_CLASS(MPI_Send(good, 1, t, 0, 1, MPI_COMM_SELF), MPI_ERR_TYPE);
  freed = t;
  OK(MPI_Type_free(&t));
  CHECK_CLASS(MPI_Type_commit(&freed), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_Type_create_f90_real(99, 9, &t), MPI_ERR_ARG);
  CHECK_CLASS(MPI_Type_match_size(MPI_TYPECLASS_REAL, 3, &t), MPI_ERR_ARG);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  check_pack();
  check_external();
  check_counts();
  check_errors();
  return check_finalize();
}
