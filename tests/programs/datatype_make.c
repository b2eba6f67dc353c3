/* SPDX-License-Identifier: BSD-3-Clause */
/* What could go wrong: a predefined datatype has a wrong size, extent or name; a constructor, or its _c form,
   passes an argument in the wrong place, so that bounds or the order of the data are wrong; a freed type
   frees those made from it. */
#include <complex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <wchar.h>
#include "check.h"

struct named {
  MPI_Datatype type;
  const char* name;
  int size, extent;
};
#define ROW(type, c) \
  { MPI_##type, "MPI_" #type, (int)sizeof(c), (int)sizeof(c) }
#define FIXED(type, size, extent) \
  { MPI_##type, "MPI_" #type, size, extent }

struct long_double_int {
  long double value;
  int index;
};
static const struct named all[] = {
    ROW(AINT, MPI_Aint),
    ROW(COUNT, MPI_Count),
    ROW(OFFSET, MPI_Offset),
    FIXED(PACKED, 1, 1),
    ROW(SHORT, short),
    ROW(INT, int),
    ROW(LONG, long),
    ROW(LONG_LONG_INT, long long),
    ROW(UNSIGNED_SHORT, short),
    ROW(UNSIGNED, int),
    ROW(UNSIGNED_LONG, long),
    ROW(UNSIGNED_LONG_LONG, long long),
    ROW(FLOAT, float),
    ROW(DOUBLE, double),
    ROW(LONG_DOUBLE, long double),
    ROW(C_COMPLEX, float complex),
    ROW(C_DOUBLE_COMPLEX, double complex),
    ROW(C_LONG_DOUBLE_COMPLEX, long double complex),
    ROW(C_BOOL, bool),
    ROW(WCHAR, wchar_t),
    ROW(INT8_T, int8_t),
    ROW(UINT8_T, uint8_t),
    ROW(CHAR, char),
    ROW(SIGNED_CHAR, char),
    ROW(UNSIGNED_CHAR, char),
    ROW(BYTE, char),
    ROW(INT16_T, int16_t),
    ROW(UINT16_T, int16_t),
    ROW(INT32_T, int32_t),
    ROW(UINT32_T, int32_t),
    ROW(INT64_T, int64_t),
    ROW(UINT64_T, int64_t),
    ROW(CXX_BOOL, bool),
    ROW(CXX_FLOAT_COMPLEX, float complex),
    ROW(CXX_DOUBLE_COMPLEX, double complex),
    ROW(CXX_LONG_DOUBLE_COMPLEX, long double complex),
    FIXED(LOGICAL, 4, 4),
    FIXED(INTEGER, 4, 4),
    FIXED(REAL, 4, 4),
    FIXED(COMPLEX, 8, 8),
    FIXED(DOUBLE_PRECISION, 8, 8),
    FIXED(DOUBLE_COMPLEX, 16, 16),
    FIXED(CHARACTER, 1, 1),
    FIXED(LOGICAL1, 1, 1),
    FIXED(LOGICAL2, 2, 2),
    FIXED(LOGICAL4, 4, 4),
    FIXED(LOGICAL8, 8, 8),
    FIXED(LOGICAL16, 16, 16),
    FIXED(INTEGER1, 1, 1),
    FIXED(INTEGER2, 2, 2),
    FIXED(INTEGER4, 4, 4),
    FIXED(INTEGER8, 8, 8),
    FIXED(INTEGER16, 16, 16),
    FIXED(REAL2, 2, 2),
    FIXED(REAL4, 4, 4),
    FIXED(REAL8, 8, 8),
    FIXED(REAL16, 16, 16),
    FIXED(COMPLEX4, 4, 4),
    FIXED(COMPLEX8, 8, 8),
    FIXED(COMPLEX16, 16, 16),
    FIXED(COMPLEX32, 32, 32),
    FIXED(FLOAT_INT, 8, 8),
    FIXED(DOUBLE_INT, 12, 16),
    FIXED(LONG_INT, 12, 16),
    FIXED(2INT, 8, 8),
    FIXED(SHORT_INT, 6, 8),
    FIXED(LONG_DOUBLE_INT, (int)sizeof(long double) + 4, (int)sizeof(struct long_double_int)),
    FIXED(2REAL, 8, 8),
    FIXED(2DOUBLE_PRECISION, 16, 16),
    FIXED(2INTEGER, 8, 8)};

static void check_predefined(void) {
  for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
    char name[MPI_MAX_OBJECT_NAME];
    int size = -1, length = -1, ni, na, nd, combiner;
    MPI_Aint lb = -1, extent = -1;
    OK(MPI_Type_size(all[i].type, &size));
    OK(MPI_Type_get_extent(all[i].type, &lb, &extent));
    OK(MPI_Type_get_name(all[i].type, name, &length));
    OK(MPI_Type_get_envelope(all[i].type, &ni, &na, &nd, &combiner));
    CHECK(size == all[i].size && lb == 0 && extent == all[i].extent);
    CHECK(strcmp(name, all[i].name) == 0 && length == (int)strlen(name));
    CHECK(ni == 0 && na == 0 && nd == 0 && combiner == MPI_COMBINER_NAMED);
  }
  CHECK(MPI_LONG_LONG == MPI_LONG_LONG_INT && MPI_C_FLOAT_COMPLEX == MPI_C_COMPLEX);
}

static void expect(MPI_Datatype type, MPI_Count size, MPI_Count lb, MPI_Count extent, MPI_Count true_lb,
                   MPI_Count true_extent) {
  MPI_Count s = -1, l = -1, e = -1, tl = -1, te = -1, l2, e2;
  MPI_Aint la, ea;
  OK(MPI_Type_size_c(type, &s));
  OK(MPI_Type_get_extent_c(type, &l, &e));
  OK(MPI_Type_get_true_extent_c(type, &tl, &te));
  CHECK(s == size && l == lb && e == extent && tl == true_lb && te == true_extent);
  OK(MPI_Type_size_x(type, &s));
  OK(MPI_Type_get_extent_x(type, &l, &e));
  OK(MPI_Type_get_true_extent_x(type, &l2, &e2));
  CHECK(s == size && l == lb && e == extent && l2 == true_lb && e2 == true_extent);
  OK(MPI_Type_get_extent(type, &la, &ea));
  CHECK(la == lb && ea == extent);
  OK(MPI_Type_get_true_extent(type, &la, &ea));
  CHECK(la == true_lb && ea == true_extent);
}

/* Packs one item from the ints 0, 1, 2 ... at displacement 0 and compares. */
static void expect_ints(MPI_Datatype* type, int origin, const int* want, int count) {
  int memory[200], out[100], position = 0, i;
  for (i = 0; i < 200; i++) memory[i] = i - origin;
  OK(MPI_Type_commit(type));
  OK(MPI_Pack(memory + origin, 1, *type, out, sizeof out, &position, MPI_COMM_SELF));
  CHECK(position == count * (int)sizeof(int));
  for (i = 0; i < count && position == count * (int)sizeof(int); i++) CHECK(out[i] == want[i]);
  OK(MPI_Type_free(type));
  CHECK(*type == MPI_DATATYPE_NULL);
}

static void check_constructors(void) {
  MPI_Datatype t, u;
  const int blocks[] = {2, 0, 1}, at[] = {5, 9, -3};
  const MPI_Count cblocks[] = {2, 0, 1}, cat[] = {5, 9, -3}, cbytes[] = {20, 36, -12};
  const MPI_Aint bytes[] = {20, 36, -12};
  OK(MPI_Type_contiguous(4, MPI_INT, &t));
  expect(t, 16, 0, 16, 0, 16);
  expect_ints(&t, 0, (int[]){0, 1, 2, 3}, 4);
  OK(MPI_Type_contiguous_c(4, MPI_INT, &t));
  expect_ints(&t, 0, (int[]){0, 1, 2, 3}, 4);
  OK(MPI_Type_vector(3, 2, 4, MPI_INT, &t));
  expect(t, 24, 0, 40, 0, 40);
  expect_ints(&t, 0, (int[]){0, 1, 4, 5, 8, 9}, 6);
  OK(MPI_Type_vector_c(3, 1, -2, MPI_INT, &t));
  expect(t, 12, -16, 20, -16, 20);
  expect_ints(&t, 50, (int[]){0, -2, -4}, 3);
  OK(MPI_Type_create_hvector(2, 2, 12, MPI_INT, &t));
  expect_ints(&t, 0, (int[]){0, 1, 3, 4}, 4);
  OK(MPI_Type_create_hvector_c(2, 2, 12, MPI_INT, &t));
  expect_ints(&t, 0, (int[]){0, 1, 3, 4}, 4);
  OK(MPI_Type_indexed(3, blocks, at, MPI_INT, &t));
  expect(t, 12, -12, 40, -12, 40);
  expect_ints(&t, 50, (int[]){5, 6, -3}, 3);
  OK(MPI_Type_indexed_c(3, cblocks, cat, MPI_INT, &t));
  expect_ints(&t, 50, (int[]){5, 6, -3}, 3);
  OK(MPI_Type_create_hindexed(3, blocks, bytes, MPI_INT, &t));
  expect_ints(&t, 50, (int[]){5, 6, -3}, 3);
  OK(MPI_Type_create_hindexed_c(3, cblocks, cbytes, MPI_INT, &t));
  expect_ints(&t, 50, (int[]){5, 6, -3}, 3);
  OK(MPI_Type_create_indexed_block(3, 2, at, MPI_INT, &t));
  expect_ints(&t, 50, (int[]){5, 6, 9, 10, -3, -2}, 6);
  OK(MPI_Type_create_indexed_block_c(3, 2, cat, MPI_INT, &t));
  expect_ints(&t, 50, (int[]){5, 6, 9, 10, -3, -2}, 6);
  OK(MPI_Type_create_hindexed_block(3, 2, bytes, MPI_INT, &t));
  expect_ints(&t, 50, (int[]){5, 6, 9, 10, -3, -2}, 6);
  OK(MPI_Type_create_hindexed_block_c(3, 2, cbytes, MPI_INT, &t));
  expect_ints(&t, 50, (int[]){5, 6, 9, 10, -3, -2}, 6);
  OK(MPI_Type_vector(2, 1, 3, MPI_INT, &u));
  OK(MPI_Type_create_struct(3, blocks, bytes, (MPI_Datatype[]){MPI_INT, MPI_DOUBLE, u}, &t));
  OK(MPI_Type_free(&u)); /* types made from it stay valid */
  expect_ints(&t, 50, (int[]){5, 6, -3, 0}, 4);
  OK(MPI_Type_create_struct_c(2, cblocks, cbytes, (MPI_Datatype[]){MPI_INT, MPI_INT}, &t));
  expect_ints(&t, 50, (int[]){5, 6}, 2);
  OK(MPI_Type_create_resized(MPI_INT, -4, 12, &u));
  expect(u, 4, -4, 12, 0, 4);
  OK(MPI_Type_contiguous(3, u, &t));
  expect(t, 12, -4, 36, 0, 28);
  OK(MPI_Type_free(&u));
  expect_ints(&t, 0, (int[]){0, 3, 6}, 3);
  OK(MPI_Type_create_resized_c(MPI_INT, 0, 8, &u));
  OK(MPI_Type_dup(u, &t));
  expect(t, 4, 0, 8, 0, 4);
  OK(MPI_Type_free(&u));
  expect_ints(&t, 0, (int[]){0}, 1);
}

static void check_arrays(void) {
  MPI_Datatype t;
  const int sizes[] = {4, 5}, subsizes[] = {2, 3}, starts[] = {1, 2};
  const MPI_Count csizes[] = {4, 5}, csubsizes[] = {2, 3}, cstarts[] = {1, 2};
  OK(MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_C, MPI_INT, &t));
  expect(t, 24, 0, 80, 28, 32);
  expect_ints(&t, 0, (int[]){7, 8, 9, 12, 13, 14}, 6);
  OK(MPI_Type_create_subarray(2, sizes, subsizes, starts, MPI_ORDER_FORTRAN, MPI_INT, &t));
  expect_ints(&t, 0, (int[]){9, 10, 13, 14, 17, 18}, 6);
  OK(MPI_Type_create_subarray_c(2, csizes, csubsizes, cstarts, MPI_ORDER_C, MPI_INT, &t));
  expect_ints(&t, 0, (int[]){7, 8, 9, 12, 13, 14}, 6);
  const int distribs[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC}, procs[] = {2, 2};
  const int dargs[] = {MPI_DISTRIBUTE_DFLT_DARG, 2};
  /* rank 3 is row 1, column 1 of the grid: rows 2 and 3, columns 2 and 3 of 5 */
  OK(MPI_Type_create_darray(4, 3, 2, sizes, distribs, dargs, procs, MPI_ORDER_C, MPI_INT, &t));
  expect(t, 16, 0, 80, 48, 28);
  expect_ints(&t, 0, (int[]){12, 13, 17, 18}, 4);
  /* rank 2 is row 1, column 0: columns 0, 1 and 4 */
  OK(MPI_Type_create_darray_c(4, 2, 2, csizes, distribs, dargs, procs, MPI_ORDER_C, MPI_INT, &t));
  expect_ints(&t, 0, (int[]){10, 11, 14, 15, 16, 19}, 6);
}

static void check_names_and_f90(void) {
  MPI_Datatype t, u;
  char name[MPI_MAX_OBJECT_NAME], longest[300];
  int length, size;
  OK(MPI_Type_contiguous(2, MPI_INT, &t));
  OK(MPI_Type_get_name(t, name, &length));
  CHECK(length == 0 && name[0] == 0);
  memset(longest, 'x', sizeof longest);
  longest[299] = 0;
  OK(MPI_Type_set_name(t, longest));
  OK(MPI_Type_get_name(t, name, &length));
  CHECK(length == MPI_MAX_OBJECT_NAME - 1 && (int)strlen(name) == length);
  OK(MPI_Type_free(&t));
  OK(MPI_Type_get_name(MPI_DATATYPE_NULL, name, &length));
  CHECK(strcmp(name, "MPI_DATATYPE_NULL") == 0);
  OK(MPI_Type_create_f90_real(15, 307, &t));
  OK(MPI_Type_create_f90_real(15, 307, &u));
  OK(MPI_Type_size(t, &size));
  CHECK(t == u && size == 8);
  OK(MPI_Type_create_f90_complex(6, MPI_UNDEFINED, &t));
  OK(MPI_Type_size(t, &size));
  CHECK(size == 8);
  OK(MPI_Type_create_f90_integer(12, &t));
  OK(MPI_Type_size(t, &size));
  CHECK(size == 8);
  OK(MPI_Type_match_size(MPI_TYPECLASS_REAL, 4, &t));
  CHECK(t == MPI_REAL || t == MPI_REAL4);
  OK(MPI_Type_match_size(MPI_TYPECLASS_COMPLEX, 32, &t));
  CHECK(t == MPI_COMPLEX32);
}

/* The type of a value and its index is the one with a name, or there is none. */
static void check_pairs(void) {
  static const struct {
    MPI_Datatype value, index, pair;
  } all[] = {{MPI_FLOAT, MPI_INT, MPI_FLOAT_INT},
             {MPI_DOUBLE, MPI_INT, MPI_DOUBLE_INT},
             {MPI_LONG, MPI_INT, MPI_LONG_INT},
             {MPI_INT, MPI_INT, MPI_2INT},
             {MPI_SHORT, MPI_INT, MPI_SHORT_INT},
             {MPI_LONG_DOUBLE, MPI_INT, MPI_LONG_DOUBLE_INT},
             {MPI_REAL, MPI_REAL, MPI_2REAL},
             {MPI_DOUBLE_PRECISION, MPI_DOUBLE_PRECISION, MPI_2DOUBLE_PRECISION},
             {MPI_INTEGER, MPI_INTEGER, MPI_2INTEGER},
             {MPI_FLOAT, MPI_INT64_T, MPI_DATATYPE_NULL},
             {MPI_DOUBLE, MPI_INT64_T, MPI_DATATYPE_NULL},
             {MPI_INT32_T, MPI_INT64_T, MPI_DATATYPE_NULL},
             {MPI_INT64_T, MPI_INT64_T, MPI_DATATYPE_NULL},
             {MPI_INT32_T, MPI_INT32_T, MPI_DATATYPE_NULL}, /* as MPI_2INT, but not with its types */
             {MPI_LONG_LONG, MPI_INT, MPI_DATATYPE_NULL},
             {MPI_UNSIGNED, MPI_INT, MPI_DATATYPE_NULL},
             {MPI_UINT64_T, MPI_INT, MPI_DATATYPE_NULL},
             {MPI_SHORT, MPI_LONG, MPI_DATATYPE_NULL},
             {MPI_LONG_DOUBLE, MPI_INT64_T, MPI_DATATYPE_NULL},
             {MPI_CHAR, MPI_CHAR, MPI_DATATYPE_NULL},
             {MPI_CHAR, MPI_INT, MPI_DATATYPE_NULL},
             {MPI_FLOAT, MPI_FLOAT, MPI_DATATYPE_NULL},
             {MPI_2INT, MPI_INT, MPI_DATATYPE_NULL}};
  MPI_Datatype t, derived;
  unsigned i;
  for (i = 0; i < sizeof all / sizeof all[0]; i++) {
    OK(MPI_Type_get_value_index(all[i].value, all[i].index, &t));
    CHECK(t == all[i].pair);
  }
  OK(MPI_Type_contiguous(1, MPI_INT, &derived));
  CHECK_CLASS(MPI_Type_get_value_index(derived, MPI_INT, &t), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_Type_get_value_index(MPI_INT, derived, &t), MPI_ERR_TYPE);
  OK(MPI_Type_free(&derived));
}

/* Strides that are no multiple of the alignment: the padding of an item counts, and the whole is rounded up.
 */
static void check_odd_strides(void) {
  const int ones[2] = {1, 1};
  MPI_Aint at[2] = {0, 4}, lb, extent;
  MPI_Datatype kinds[2] = {MPI_INT, MPI_CHAR}, item, t;
  OK(MPI_Type_create_struct(2, ones, at, kinds, &item));
  OK(MPI_Type_create_hvector(2, 1, 9, item, &t));
  OK(MPI_Type_get_extent(t, &lb, &extent));
  CHECK(lb == 0 && extent == 20);
  OK(MPI_Type_free(&t));
  at[1] = 9;
  OK(MPI_Type_create_hindexed(2, ones, at, item, &t));
  OK(MPI_Type_get_extent(t, &lb, &extent));
  CHECK(lb == 0 && extent == 20);
  OK(MPI_Type_get_true_extent(t, &lb, &extent));
  CHECK(lb == 0 && extent == 14);
  OK(MPI_Type_free(&t));
  OK(MPI_Type_create_hvector(2, 1, 5, MPI_INT, &t));
  OK(MPI_Type_get_extent(t, &lb, &extent));
  CHECK(lb == 0 && extent == 12);
  OK(MPI_Type_free(&t));
  OK(MPI_Type_free(&item));
}

static void check_large(void) {
  const MPI_Count many = (MPI_Count)3 << 31;
  MPI_Datatype t, u;
  int size;
  MPI_Status status;
  MPI_Count count;
  OK(MPI_Type_contiguous_c(many, MPI_INT, &t));
  expect(t, many * 4, 0, many * 4, 0, many * 4);
  OK(MPI_Type_size(t, &size));
  CHECK(size == MPI_UNDEFINED);
  OK(MPI_Type_vector_c(3, 1, many, MPI_INT, &u));
  CHECK_CLASS(MPI_Type_contiguous_c(many, u, &u), MPI_ERR_ARG);
  memset(&status, 0, sizeof status);
  OK(MPI_Status_set_elements_c(&status, t, many + 5));
  OK(MPI_Get_elements_c(&status, t, &count));
  CHECK(count == many + 5);
  OK(MPI_Get_elements(&status, t, &size));
  CHECK(size == MPI_UNDEFINED);
  OK(MPI_Get_count(&status, t, &size));
  CHECK(size == MPI_UNDEFINED);
  OK(MPI_Type_free(&t));
  OK(MPI_Type_free(&u));
}

static void check_addresses(void) {
  int array[10] = {0};
  MPI_Aint a, b;
  OK(MPI_Get_address(&array[2], &a));
  OK(MPI_Get_address(&array[7], &b));
  CHECK(MPI_Aint_diff(b, a) == 5 * (MPI_Aint)sizeof(int));
  CHECK(MPI_Aint_add(a, 5 * (MPI_Aint)sizeof(int)) == b);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  check_predefined();
  check_constructors();
  check_arrays();
  check_names_and_f90();
  check_pairs();
  check_odd_strides();
  check_large();
  check_addresses();
  return check_finalize();
}
