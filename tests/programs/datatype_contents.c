/* SPDX-License-Identifier: BSD-3-Clause */
/* What could go wrong: envelope and contents tell other arguments than the constructor was given, put them
   into the wrong array (ints, addresses, large counts), or return handles that are freed with the original.
 */
#include "check.h"

/* The contents of a type: its combiner, then ints, addresses, large counts and datatypes, with their
 * numbers. */
static void expect(MPI_Datatype type, int combiner, int ni, const int* ints, int na,
                   const MPI_Aint* addresses, int nc, const MPI_Count* counts, int nd,
                   const MPI_Datatype* types) {
  MPI_Count got_ni = -1, got_na = -1, got_nc = -1, got_nd = -1, c[40];
  int got = -1, n[4], i[40], k;
  MPI_Aint a[40];
  MPI_Datatype d[40];
  OK(MPI_Type_get_envelope_c(type, &got_ni, &got_na, &got_nc, &got_nd, &got));
  CHECK(got == combiner && got_ni == ni && got_na == na && got_nc == nc && got_nd == nd);
  if (got_ni != ni || got_na != na || got_nc != nc || got_nd != nd) return;
  OK(MPI_Type_get_contents_c(type, 40, 40, 40, 40, i, a, c, d));
  for (k = 0; k < ni; k++) CHECK(i[k] == ints[k]);
  for (k = 0; k < na; k++) CHECK(a[k] == addresses[k]);
  for (k = 0; k < nc; k++) CHECK(c[k] == counts[k]);
  for (k = 0; k < nd; k++) {
    MPI_Count dn[4];
    int how;
    OK(MPI_Type_get_envelope_c(d[k], &dn[0], &dn[1], &dn[2], &dn[3], &how));
    if (how == MPI_COMBINER_NAMED)
      CHECK(d[k] == types[k]);
    else
      OK(MPI_Type_free(&d[k]));
  }
  if (nc == 0) {
    OK(MPI_Type_get_envelope(type, &n[0], &n[1], &n[2], &n[3]));
    CHECK(n[0] == ni && n[1] == na && n[2] == nd && n[3] == combiner);
    OK(MPI_Type_get_contents(type, ni, na, nd, i, a, d));
    for (k = 0; k < ni; k++) CHECK(i[k] == ints[k]);
    for (k = 0; k < nd; k++)
      if (types[k] != d[k]) OK(MPI_Type_free(&d[k]));
    if (ni > 0) CHECK_CLASS(MPI_Type_get_contents(type, ni - 1, na, nd, i, a, d), MPI_ERR_ARG);
  } else {
    CHECK_CLASS(MPI_Type_get_envelope(type, &n[0], &n[1], &n[2], &n[3]), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Type_get_contents(type, 40, 40, 40, i, a, d), MPI_ERR_TYPE);
    CHECK_CLASS(MPI_Type_get_contents_c(type, 40, 40, nc - 1, 40, i, a, c, d), MPI_ERR_ARG);
  }
}

static const MPI_Datatype ints[] = {MPI_INT, MPI_INT, MPI_INT};
#define INTS(...) \
  (int)(sizeof((int[]){__VA_ARGS__}) / sizeof(int)), (int[]) { __VA_ARGS__ }
#define AINTS(...) \
  (int)(sizeof((MPI_Aint[]){__VA_ARGS__}) / sizeof(MPI_Aint)), (MPI_Aint[]) { __VA_ARGS__ }
#define COUNTS(...) \
  (int)(sizeof((MPI_Count[]){__VA_ARGS__}) / sizeof(MPI_Count)), (MPI_Count[]) { __VA_ARGS__ }
#define NONE 0, NULL

static void check_plain(void) {
  MPI_Datatype t;
  const int b[] = {2, 3}, d[] = {7, 1};
  const MPI_Aint a[] = {40, 4};
  OK(MPI_Type_contiguous(9, MPI_INT, &t));
  expect(t, MPI_COMBINER_CONTIGUOUS, INTS(9), NONE, NONE, 1, ints);
  OK(MPI_Type_free(&t));
  OK(MPI_Type_vector(2, 3, -4, MPI_INT, &t));
  expect(t, MPI_COMBINER_VECTOR, INTS(2, 3, -4), NONE, NONE, 1, ints);
  OK(MPI_Type_free(&t));
  OK(MPI_Type_create_hvector(2, 3, 44, MPI_INT, &t));
  expect(t, MPI_COMBINER_HVECTOR, INTS(2, 3), AINTS(44), NONE, 1, ints);
  OK(MPI_Type_free(&t));
  OK(MPI_Type_indexed(2, b, d, MPI_INT, &t));
  expect(t, MPI_COMBINER_INDEXED, INTS(2, 2, 3, 7, 1), NONE, NONE, 1, ints);
  OK(MPI_Type_free(&t));
  OK(MPI_Type_create_hindexed(2, b, a, MPI_INT, &t));
  expect(t, MPI_COMBINER_HINDEXED, INTS(2, 2, 3), AINTS(40, 4), NONE, 1, ints);
  OK(MPI_Type_free(&t));
  OK(MPI_Type_create_indexed_block(2, 5, d, MPI_INT, &t));
  expect(t, MPI_COMBINER_INDEXED_BLOCK, INTS(2, 5, 7, 1), NONE, NONE, 1, ints);
  OK(MPI_Type_free(&t));
  OK(MPI_Type_create_hindexed_block(2, 5, a, MPI_INT, &t));
  expect(t, MPI_COMBINER_HINDEXED_BLOCK, INTS(2, 5), AINTS(40, 4), NONE, 1, ints);
  OK(MPI_Type_free(&t));
  OK(MPI_Type_create_struct(2, b, a, ints, &t));
  expect(t, MPI_COMBINER_STRUCT, INTS(2, 2, 3), AINTS(40, 4), NONE, 2, ints);
  OK(MPI_Type_free(&t));
  OK(MPI_Type_create_resized(MPI_INT, -8, 24, &t));
  expect(t, MPI_COMBINER_RESIZED, NONE, AINTS(-8, 24), NONE, 1, ints);
  OK(MPI_Type_free(&t));
  OK(MPI_Type_dup(MPI_INT, &t));
  expect(t, MPI_COMBINER_DUP, NONE, NONE, NONE, 1, ints);
  OK(MPI_Type_free(&t));
}

static void check_large(void) {
  MPI_Datatype t;
  const MPI_Count b[] = {2, 3}, d[] = {40, 4};
  OK(MPI_Type_contiguous_c(9, MPI_INT, &t));
  expect(t, MPI_COMBINER_CONTIGUOUS, NONE, NONE, COUNTS(9), 1, ints);
  OK(MPI_Type_free(&t));
  OK(MPI_Type_vector_c(2, 3, -4, MPI_INT, &t));
  expect(t, MPI_COMBINER_VECTOR, NONE, NONE, COUNTS(2, 3, -4), 1, ints);
  OK(MPI_Type_free(&t));
  OK(MPI_Type_create_hvector_c(2, 3, 44, MPI_INT, &t));
  expect(t, MPI_COMBINER_HVECTOR, NONE, NONE, COUNTS(2, 3, 44), 1, ints);
  OK(MPI_Type_free(&t));
  OK(MPI_Type_create_hindexed_c(2, b, d, MPI_INT, &t));
  expect(t, MPI_COMBINER_HINDEXED, NONE, NONE, COUNTS(2, 2, 3, 40, 4), 1, ints);
  OK(MPI_Type_free(&t));
  OK(MPI_Type_create_hindexed_block_c(2, 5, d, MPI_INT, &t));
  expect(t, MPI_COMBINER_HINDEXED_BLOCK, NONE, NONE, COUNTS(2, 5, 40, 4), 1, ints);
  OK(MPI_Type_free(&t));
  OK(MPI_Type_create_struct_c(2, b, d, ints, &t));
  expect(t, MPI_COMBINER_STRUCT, NONE, NONE, COUNTS(2, 2, 3, 40, 4), 2, ints);
  OK(MPI_Type_free(&t));
  OK(MPI_Type_create_resized_c(MPI_INT, -8, 24, &t));
  expect(t, MPI_COMBINER_RESIZED, NONE, NONE, COUNTS(-8, 24), 1, ints);
  OK(MPI_Type_free(&t));
}

static void check_arrays(void) {
  MPI_Datatype t;
  const int sizes[] = {4, 5}, sub[] = {2, 3}, at[] = {1, 2},
            dist[] = {MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC};
  const int dargs[] = {MPI_DISTRIBUTE_DFLT_DARG, 2}, procs[] = {2, 1};
  const MPI_Count csizes[] = {4, 5}, csub[] = {2, 3}, cat[] = {1, 2};
  OK(MPI_Type_create_subarray(2, sizes, sub, at, MPI_ORDER_C, MPI_INT, &t));
  expect(t, MPI_COMBINER_SUBARRAY, INTS(2, 4, 5, 2, 3, 1, 2, MPI_ORDER_C), NONE, NONE, 1, ints);
  OK(MPI_Type_free(&t));
  OK(MPI_Type_create_subarray_c(2, csizes, csub, cat, MPI_ORDER_FORTRAN, MPI_INT, &t));
  expect(t, MPI_COMBINER_SUBARRAY, INTS(2, MPI_ORDER_FORTRAN), NONE, COUNTS(4, 5, 2, 3, 1, 2), 1, ints);
  OK(MPI_Type_free(&t));
  OK(MPI_Type_create_darray(2, 1, 2, sizes, dist, dargs, procs, MPI_ORDER_C, MPI_INT, &t));
  expect(t, MPI_COMBINER_DARRAY,
         INTS(2, 1, 2, 4, 5, MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_DFLT_DARG, 2, 2, 1,
              MPI_ORDER_C),
         NONE, NONE, 1, ints);
  OK(MPI_Type_free(&t));
  OK(MPI_Type_create_darray_c(2, 1, 2, csizes, dist, dargs, procs, MPI_ORDER_C, MPI_INT, &t));
  expect(t, MPI_COMBINER_DARRAY,
         INTS(2, 1, 2, MPI_DISTRIBUTE_BLOCK, MPI_DISTRIBUTE_CYCLIC, MPI_DISTRIBUTE_DFLT_DARG, 2, 2, 1,
              MPI_ORDER_C),
         NONE, COUNTS(4, 5), 1, ints);
  OK(MPI_Type_free(&t));
}

static void check_predefined(void) {
  MPI_Datatype t, d[2];
  int i[4];
  MPI_Aint a[4];
  OK(MPI_Type_create_f90_real(10, 40, &t));
  expect(t, MPI_COMBINER_F90_REAL, INTS(10, 40), NONE, NONE, NONE);
  CHECK_CLASS(MPI_Type_free(&t), MPI_ERR_TYPE);
  OK(MPI_Type_create_f90_integer(7, &t));
  expect(t, MPI_COMBINER_F90_INTEGER, INTS(7), NONE, NONE, NONE);
  CHECK_CLASS(MPI_Type_get_contents(MPI_INT, 4, 4, 2, i, a, d), MPI_ERR_TYPE);
}

/* Contents of a type whose ingredients were freed, and a chain so long that no recursion can survive it. */
static void check_lifetime(void) {
  MPI_Datatype t, u, d[1];
  int n[4], i[4], size, k;
  MPI_Aint a[1];
  OK(MPI_Type_vector(2, 1, 3, MPI_INT, &t));
  OK(MPI_Type_contiguous(5, t, &u));
  OK(MPI_Type_free(&t));
  OK(MPI_Type_get_contents(u, 1, 0, 1, i, a, d));
  OK(MPI_Type_free(&u));
  OK(MPI_Type_get_envelope(d[0], &n[0], &n[1], &n[2], &n[3]));
  CHECK(n[3] == MPI_COMBINER_VECTOR);
  OK(MPI_Type_size(d[0], &size));
  CHECK(size == 8);
  OK(MPI_Type_free(&d[0]));
  OK(MPI_Type_dup(MPI_INT, &t));
  for (k = 0; k < 300000; k++) {
    MPI_Type_dup(t, &u);
    MPI_Type_free(&t);
    t = u;
  }
  OK(MPI_Type_free(&t));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  check_plain();
  check_large();
  check_arrays();
  check_predefined();
  check_lifetime();
  return check_finalize();
}
