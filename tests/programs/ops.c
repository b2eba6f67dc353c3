/* SPDX-License-Identifier: BSD-3-Clause */
/* Operations and MPI_Reduce_local. What could go wrong: operands in the wrong order, an operation taken on a
   type it is not defined on, a user function that gets the wrong datatype or a count cut to 32 bits, a
   predefined operation freed. */
#include <stdint.h>
#include "check.h"

static int calls;
static MPI_Datatype seen;

static void subtract(void* in, void* inout, int* n, MPI_Datatype* type) {
  int i;
  calls++;
  seen = *type;
  for (i = 0; i < *n; i++) ((int*)inout)[i] = ((int*)in)[i] - ((int*)inout)[i];
}

static void subtract_c(void* in, void* inout, MPI_Count* n, MPI_Datatype* type) {
  MPI_Count i;
  calls++;
  seen = *type;
  for (i = 0; i < *n; i++) ((int*)inout)[i] = ((int*)in)[i] - ((int*)inout)[i];
}

static void test_predefined(void) {
  int a[3] = {1, 5, -2}, b[3] = {4, 2, -9};
  double x[2] = {0.5, 2}, y[2] = {0.25, -1};
  unsigned char bits[1] = {0x0f}, other[1] = {0x3c};
  struct {
    int value, index;
  } p = {3, 7}, q = {3, 2};
  OK(MPI_Reduce_local(a, b, 3, MPI_INT, MPI_SUM));
  CHECK(b[0] == 5 && b[1] == 7 && b[2] == -11);
  OK(MPI_Reduce_local(a, b, 3, MPI_INT, MPI_MAX));
  CHECK(b[0] == 5 && b[1] == 7 && b[2] == -2);
  OK(MPI_Reduce_local(x, y, 2, MPI_DOUBLE, MPI_PROD));
  CHECK(y[0] == 0.125 && y[1] == -2);
  OK(MPI_Reduce_local(bits, other, 1, MPI_BYTE, MPI_BXOR));
  CHECK(other[0] == 0x33);
  OK(MPI_Reduce_local(&p, &q, 1, MPI_2INT, MPI_MINLOC));
  CHECK(q.value == 3 && q.index == 2);
  OK(MPI_Reduce_local(a, b, 3, MPI_INT, MPI_REPLACE));
  CHECK(b[0] == 1 && b[1] == 5 && b[2] == -2);
  OK(MPI_Reduce_local(x, b, 1, MPI_INT, MPI_NO_OP));
  CHECK(b[0] == 1);
  OK(MPI_Reduce_local(NULL, NULL, 0, MPI_INT, MPI_SUM));
  OK(MPI_Reduce_local_c(a, b, 1, MPI_INT, MPI_SUM));
  CHECK(b[0] == 2);
}

static void test_user(void) {
  int a[2] = {10, 20}, b[2] = {1, 2}, commutes = -1;
  MPI_Op op, op_c, freed;
  MPI_Datatype pair;
  OK(MPI_Op_create(subtract, 0, &op));
  OK(MPI_Op_create_c(subtract_c, 1, &op_c));
  OK(MPI_Op_commutative(op, &commutes));
  CHECK(commutes == 0);
  OK(MPI_Op_commutative(op_c, &commutes));
  CHECK(commutes == 1);
  OK(MPI_Op_commutative(MPI_SUM, &commutes));
  CHECK(commutes == 1);
  OK(MPI_Reduce_local(a, b, 2, MPI_INT, op)); /* in op inout */
  CHECK(b[0] == 9 && b[1] == 18 && calls == 1 && seen == MPI_INT);
  OK(MPI_Reduce_local(a, b, 2, MPI_INT, op_c));
  CHECK(b[0] == 1 && b[1] == 2 && calls == 2);
  OK(MPI_Type_contiguous(2, MPI_INT, &pair));
  CHECK_CLASS(MPI_Reduce_local(a, b, 1, pair, op), MPI_ERR_TYPE); /* not committed */
  OK(MPI_Type_commit(&pair));
  OK(MPI_Reduce_local(a, b, 1, pair, op));
  CHECK(seen == pair);
  CHECK_CLASS(MPI_Reduce_local(a, b, 1, pair, MPI_SUM), MPI_ERR_OP); /* predefined ops: predefined types */
  OK(MPI_Type_free(&pair));
  freed = op;
  OK(MPI_Op_free(&op));
  CHECK(op == MPI_OP_NULL);
  OK(MPI_Op_free(&op_c));
  CHECK_CLASS(MPI_Reduce_local(a, b, 1, MPI_INT, freed), MPI_ERR_OP);
  CHECK_CLASS(MPI_Op_free(&freed), MPI_ERR_OP);
}

static void test_errors(void) {
  int a[2] = {0}, b[2] = {0};
  float x[2] = {0}, y[2] = {0};
  MPI_Op op = MPI_SUM;
  char text[MPI_MAX_ERROR_STRING];
  int length, code;
  CHECK_CLASS(MPI_Op_free(&op), MPI_ERR_OP);
  CHECK_CLASS(MPI_Op_create(NULL, 1, &op), MPI_ERR_ARG);
  code = MPI_Reduce_local(x, y, 1, MPI_FLOAT, MPI_BAND);
  CHECK_CLASS(code, MPI_ERR_OP);
  MPI_Error_string(code, text, &length);
  CHECK(strstr(text, "MPI_BAND") != NULL && strstr(text, "MPI_FLOAT") != NULL);
  CHECK_CLASS(MPI_Reduce_local(a, b, 1, MPI_BYTE, MPI_SUM), MPI_ERR_OP);
  CHECK_CLASS(MPI_Reduce_local(a, b, 1, MPI_INT, MPI_MAXLOC), MPI_ERR_OP);
  CHECK_CLASS(MPI_Reduce_local(a, b, 1, MPI_2INT, MPI_SUM), MPI_ERR_OP);
  CHECK_CLASS(MPI_Reduce_local(a, b, 1, MPI_C_DOUBLE_COMPLEX, MPI_MAX), MPI_ERR_OP);
  CHECK_CLASS(MPI_Reduce_local(a, b, 1, MPI_WCHAR, MPI_MIN), MPI_ERR_OP);
  CHECK_CLASS(MPI_Reduce_local(a, b, 1, MPI_INT, MPI_OP_NULL), MPI_ERR_OP);
  CHECK_CLASS(MPI_Reduce_local(a, b, 1, MPI_DATATYPE_NULL, MPI_SUM), MPI_ERR_TYPE);
  CHECK_CLASS(MPI_Reduce_local(a, b, -1, MPI_INT, MPI_SUM), MPI_ERR_COUNT);
  CHECK_CLASS(MPI_Reduce_local(a, a, 1, MPI_INT, MPI_SUM), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Reduce_local(NULL, a, 1, MPI_INT, MPI_SUM), MPI_ERR_BUFFER);
  CHECK_CLASS(MPI_Reduce_local(MPI_IN_PLACE, a, 1, MPI_INT, MPI_SUM), MPI_ERR_BUFFER);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  test_predefined();
  test_user();
  test_errors();
  return check_finalize();
}
