/* SPDX-License-Identifier: BSD-3-Clause */
/* What could go wrong: data that is not contiguous arrives in the wrong place when sent around a ring of
   ranks, in small and in large messages (which are cut into pieces inside elements), when sender and receiver
   lay it out differently, with absolute addresses, or when the type is freed while a message is in flight;
   gaps are overwritten. */
#include "check.h"

static int rank, size, next, previous;

/* Columns of a matrix are sent; they arrive as rows. */
static void check_transpose(int n) {
  double* from = malloc(sizeof(double) * n * n);
  double* to = malloc(sizeof(double) * n * n);
  MPI_Datatype column, columns;
  MPI_Request requests[2];
  MPI_Status statuses[2];
  int i, j, count, wrong = 0;
  for (i = 0; i < n * n; i++) {
    from[i] = rank * 1e6 + i;
    to[i] = -1;
  }
  OK(MPI_Type_vector(n, 1, n, MPI_DOUBLE, &column));
  OK(MPI_Type_create_resized(column, 0, sizeof(double), &columns));
  OK(MPI_Type_commit(&columns));
  OK(MPI_Irecv(to, n * n, MPI_DOUBLE, previous, 1, MPI_COMM_WORLD, &requests[0]));
  OK(MPI_Isend(from, n, columns, next, 1, MPI_COMM_WORLD, &requests[1]));
  OK(MPI_Type_free(&columns)); /* the message in flight keeps its type */
  OK(MPI_Type_free(&column));
  OK(MPI_Waitall(2, requests, statuses));
  OK(MPI_Get_count(&statuses[0], MPI_DOUBLE, &count));
  CHECK(count == n * n);
  for (i = 0; i < n; i++)
    for (j = 0; j < n; j++) wrong += to[i * n + j] != previous * 1e6 + j * n + i;
  CHECK(wrong == 0);
  free(from);
  free(to);
}

/* Both sides have gaps, of different shapes. */
static void check_gaps(int blocks) {
  const int cells = blocks * 12;
  int* from = malloc(sizeof(int) * cells);
  int* to = malloc(sizeof(int) * cells);
  MPI_Datatype pairs, triples;
  int i, wrong = 0, elements;
  MPI_Status status;
  for (i = 0; i < cells; i++) {
    from[i] = rank + i;
    to[i] = -9;
  }
  OK(MPI_Type_vector(3 * blocks, 2, 4, MPI_INT, &pairs));
  OK(MPI_Type_vector(2 * blocks, 3, 5, MPI_INT, &triples));
  OK(MPI_Type_commit(&pairs));
  OK(MPI_Type_commit(&triples));
  OK(MPI_Sendrecv(from, 1, pairs, next, 2, to, 1, triples, previous, 2, MPI_COMM_WORLD, &status));
  OK(MPI_Get_elements(&status, triples, &elements));
  CHECK(elements == 6 * blocks);
  for (i = 0; i < 6 * blocks; i++) wrong += to[i / 3 * 5 + i % 3] != previous + i / 2 * 4 + i % 2;
  for (i = 0; i < 2 * blocks - 1; i++) wrong += to[i * 5 + 3] != -9 || to[i * 5 + 4] != -9;
  CHECK(wrong == 0);
  OK(MPI_Type_free(&pairs));
  OK(MPI_Type_free(&triples));
  free(from);
  free(to);
}

static void check_bottom_and_partial(void) {
  int a = rank * 10, got[8] = {-1, -1, -1, -1, -1, -1, -1, -1}, count, elements, position = 0, i;
  double b = rank + 0.5;
  char packed[64];
  const int ones[] = {1, 1};
  MPI_Aint at[2];
  MPI_Datatype type, three;
  MPI_Status status;
  const MPI_Datatype types[] = {MPI_INT, MPI_DOUBLE};
  OK(MPI_Get_address(&a, &at[0]));
  OK(MPI_Get_address(&b, &at[1]));
  OK(MPI_Type_create_struct(2, ones, at, types, &type));
  OK(MPI_Type_commit(&type));
  OK(MPI_Pack(MPI_BOTTOM, 1, type, packed, sizeof packed, &position, MPI_COMM_WORLD));
  OK(MPI_Sendrecv_replace(MPI_BOTTOM, 1, type, next, 3, previous, 3, MPI_COMM_WORLD, &status));
  CHECK(a == previous * 10 && b == previous + 0.5);
  /* packed here, received as the type */
  OK(MPI_Sendrecv(packed, position, MPI_PACKED, previous, 4, MPI_BOTTOM, 1, type, next, 4, MPI_COMM_WORLD,
                  &status));
  CHECK(a == next * 10 && b == next + 0.5);
  OK(MPI_Type_free(&type));
  /* five ints into items of three */
  OK(MPI_Type_contiguous(3, MPI_INT, &three));
  OK(MPI_Type_commit(&three));
  OK(MPI_Sendrecv((int[]){1, 2, 3, 4, 5}, 5, MPI_INT, next, 5, got, 2, three, previous, 5, MPI_COMM_WORLD,
                  &status));
  OK(MPI_Get_count(&status, three, &count));
  OK(MPI_Get_elements(&status, three, &elements));
  CHECK(count == MPI_UNDEFINED && elements == 5);
  for (i = 0; i < 5; i++) CHECK(got[i] == i + 1);
  CHECK(got[5] == -1);
  OK(MPI_Type_free(&three));
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  next = (rank + 1) % size;
  previous = (rank + size - 1) % size;
  check_transpose(3);
  check_transpose(17);
  check_transpose(300);
  check_gaps(1);
  check_gaps(50);
  check_gaps(20000);
  check_bottom_and_partial();
  return check_finalize();
}
