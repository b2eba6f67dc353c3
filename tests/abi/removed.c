/* SPDX-License-Identifier: BSD-3-Clause */
/* What could go wrong: a program that uses names which MPI 3.0 removed does not build, or an old name does
   something else than it did. */
#include <mpi.h>
#include <stddef.h>

static int handled;
static void note(MPI_Comm* comm, int* code, ...) {
  (void)comm;
  handled = *code != MPI_SUCCESS;
}

int main(void) {
  struct {
    char letter;
    double numbers[3];
  } item[2];
  int lengths[2] = {1, 3}, wrong = 0;
  MPI_Aint at[2], lb = -1, ub = -1, extent = -1;
  MPI_Datatype kinds[2] = {MPI_CHAR, MPI_DOUBLE}, made;
  MPI_Errhandler handler, before, now;

  MPI_Init(NULL, NULL);
  MPI_Address(&item[0], &at[0]);
  MPI_Address(item[0].numbers, &at[1]);
  at[1] -= at[0];
  at[0] = 0;
  MPI_Type_struct(2, lengths, at, kinds, &made);
  MPI_Type_extent(made, &extent);
  wrong |= at[1] != 8 || extent != (MPI_Aint)sizeof item[0];
  MPI_Type_free(&made);

  at[0] = 16;
  at[1] = 40;
  MPI_Type_hindexed(2, lengths, at, MPI_DOUBLE, &made);
  MPI_Type_lb(made, &lb);
  MPI_Type_ub(made, &ub);
  wrong |= lb != 16 || ub != 40 + 3 * 8;
  MPI_Type_free(&made);

  MPI_Type_hvector(3, 2, 100, MPI_INT, &made);
  MPI_Type_extent(made, &extent);
  wrong |= extent != 208;
  MPI_Type_free(&made);

  MPI_Errhandler_set(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  wrong |= MPI_Type_ub(MPI_INT, NULL) == MPI_SUCCESS || MPI_Type_lb(MPI_INT, NULL) == MPI_SUCCESS;
  wrong |= MPI_Type_extent(MPI_INT, NULL) == MPI_SUCCESS || MPI_Address(&lb, NULL) == MPI_SUCCESS;

  MPI_Errhandler_get(MPI_COMM_WORLD, &before);
  MPI_Errhandler_create(note, &handler);
  MPI_Errhandler_set(MPI_COMM_WORLD, handler);
  MPI_Errhandler_get(MPI_COMM_WORLD, &now);
  MPI_Send(NULL, -1, MPI_INT, 0, 0, MPI_COMM_WORLD);
  wrong |= before != MPI_ERRORS_ARE_FATAL || now != handler || !handled;
  MPI_Errhandler_free(&handler);
  MPI_Finalize();
  return wrong;
}
