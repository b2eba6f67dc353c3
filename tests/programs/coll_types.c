/* SPDX-License-Identifier: BSD-3-Clause */
/* What could go wrong: types with gaps or a shifted lower bound are packed wrongly, or their gaps are
   written; ranks that describe the same data by different types disagree on how it is cut; the 64-bit forms
   read their arrays as ints; sizes across the switches between algorithms. */
#include "check.h"

static int rank, size;

/* A column of a matrix of `rows` x 3 ints, made so that columns follow each other. */
static MPI_Datatype column(int rows) {
  MPI_Datatype vector, type;
  OK(MPI_Type_vector(rows, 1, 3, MPI_INT, &vector));
  OK(MPI_Type_create_resized(vector, 0, sizeof(int), &type));
  OK(MPI_Type_commit(&type));
  OK(MPI_Type_free(&vector));
  return type;
}

static void bcast_columns(int rows) {
  MPI_Datatype type = column(rows);
  int *m = malloc(sizeof(int) * (size_t)rows * 3), i, root, bad;
  for (root = 0; root < size; root += 3) {
    for (bad = 0, i = 0; i < rows * 3; i++) m[i] = rank == root ? i : -1;
    if (rank == root)
      OK(MPI_Bcast(m + 1, 1, type, root, MPI_COMM_WORLD));
    else if (rank % 2)
      OK(MPI_Bcast(m + 1, 1, type, root, MPI_COMM_WORLD));
    else
      OK(MPI_Bcast(m, rows, MPI_INT, root, MPI_COMM_WORLD)); /* the same data without gaps */
    if (rank != root && rank % 2)
      for (i = 0; i < rows * 3; i++) bad += m[i] != (i % 3 == 1 ? i : -1);
    if (rank != root && rank % 2 == 0)
      for (i = 0; i < rows; i++) bad += m[i] != i * 3 + 1;
    CHECK(bad == 0);
  }
  free(m);
  OK(MPI_Type_free(&type));
}

/* Rank r gives rows of r; the root's receive type takes them as columns. */
static void gather_transposes(int rows) {
  MPI_Datatype to;
  MPI_Datatype vector;
  int *send = malloc(sizeof(int) * (size_t)rows), *recv = malloc(sizeof(int) * (size_t)(rows * size)), i, j,
      root, bad = 0;
  OK(MPI_Type_vector(rows, 1, size, MPI_INT, &vector));
  OK(MPI_Type_create_resized(vector, 0, sizeof(int), &to));
  OK(MPI_Type_commit(&to));
  for (root = 0; root < size; root++) {
    for (i = 0; i < rows; i++) send[i] = rank * 1000 + i;
    for (i = 0; i < rows * size; i++) recv[i] = -1;
    OK(MPI_Gather(send, rows, MPI_INT, recv, 1, to, root, MPI_COMM_WORLD));
    for (j = 0; rank == root && j < size; j++)
      for (i = 0; i < rows; i++) bad += recv[i * size + j] != j * 1000 + i;
    for (i = 0; i < rows; i++) send[i] = -1;
    OK(MPI_Scatter(recv, 1, to, send, rows, MPI_INT, root, MPI_COMM_WORLD));
    for (i = 0; i < rows; i++) bad += send[i] != rank * 1000 + i;
    for (i = 0; i < rows * size; i++) recv[i] = -1;
    OK(MPI_Allgather(send, rows, MPI_INT, recv, 1, to, MPI_COMM_WORLD));
    for (j = 0; j < size; j++)
      for (i = 0; i < rows; i++) bad += recv[i * size + j] != j * 1000 + i;
  }
  CHECK(bad == 0);
  OK(MPI_Type_free(&vector));
  OK(MPI_Type_free(&to));
  free(send);
  free(recv);
}

/* Every rank sends columns and receives rows, with another type for each partner. */
static void alltoallw_mixed(void) {
  int n = 6, *send = malloc(sizeof(int) * (size_t)(n * size)),
      *recv = malloc(sizeof(int) * (size_t)(2 * n * size));
  int *counts = malloc(sizeof(int) * (size_t)size * 4), *sd = counts + size, *rc = sd + size, *rd = rc + size,
      i, j, bad = 0;
  MPI_Datatype *st = malloc(sizeof(MPI_Datatype) * (size_t)size),
               *rt = malloc(sizeof(MPI_Datatype) * (size_t)size);
  MPI_Datatype spread;
  OK(MPI_Type_vector(n, 1, 2, MPI_INT, &spread));
  OK(MPI_Type_commit(&spread));
  for (j = 0; j < size; j++) {
    for (i = 0; i < n; i++) send[j * n + i] = rank * 10000 + j * 100 + i;
    counts[j] = n;
    sd[j] = j * n * (int)sizeof(int);
    st[j] = MPI_INT;
    rc[j] = j % 2 ? 1 : n;
    rt[j] = j % 2 ? spread : MPI_INT;
    rd[j] = j * 2 * n * (int)sizeof(int);
  }
  for (i = 0; i < 2 * n * size; i++) recv[i] = -7;
  OK(MPI_Alltoallw(send, counts, sd, st, recv, rc, rd, rt, MPI_COMM_WORLD));
  for (j = 0; j < size; j++)
    for (i = 0; i < 2 * n; i++) {
      const int wanted =
          j % 2 ? (i % 2 ? -7 : j * 10000 + rank * 100 + i / 2) : (i < n ? j * 10000 + rank * 100 + i : -7);
      bad += recv[j * 2 * n + i] != wanted;
    }
  CHECK(bad == 0);
  OK(MPI_Type_free(&spread));
  free(send);
  free(recv);
  free(counts);
  free(st);
  free(rt);
}

/* The 64-bit forms: their arrays are MPI_Count and MPI_Aint. */
static void large_forms(void) {
  MPI_Count* counts = malloc(sizeof(MPI_Count) * (size_t)size);
  MPI_Aint* displs = malloc(sizeof(MPI_Aint) * (size_t)size);
  int *send = malloc(sizeof(int) * (size_t)(2 * size)), *recv = malloc(sizeof(int) * (size_t)(3 * size)), i,
      bad = 0, sum = 0;
  MPI_Request request;
  for (i = 0; i < size; i++)
    counts[i] = 2, displs[i] = 3 * (size - 1 - i), send[2 * i] = send[2 * i + 1] = rank * 100 + i;
  for (i = 0; i < 3 * size; i++) recv[i] = -1;
  OK(MPI_Allgatherv_c(send, 2, MPI_INT, recv, counts, displs, MPI_INT, MPI_COMM_WORLD));
  for (i = 0; i < size; i++) bad += recv[displs[i]] != i * 100 || recv[displs[i] + 2] != -1;
  for (i = 0; i < size; i++) displs[i] = 2 * i;
  OK(MPI_Alltoallv_c(send, counts, displs, MPI_INT, recv, counts, displs, MPI_INT, MPI_COMM_WORLD));
  for (i = 0; i < size; i++) bad += recv[2 * i] != i * 100 + rank;
  OK(MPI_Reduce_scatter_c(send, recv, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD));
  bad += recv[0] != size * (size - 1) / 2 * 100 + size * rank;
  OK(MPI_Iallreduce_c(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  bad += sum != size * (size - 1) / 2;
  OK(MPI_Bcast_init_c(&sum, 1, MPI_INT, size - 1, MPI_COMM_WORLD, MPI_INFO_NULL, &request));
  sum = rank;
  OK(MPI_Start(&request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  OK(MPI_Request_free(&request));
  bad += sum != size - 1;
  CHECK(bad == 0);
  free(counts);
  free(displs);
  free(send);
  free(recv);
}

/* Across the sizes at which the algorithm changes. */
static void sweep(void) {
  int count, i, bad = 0;
  for (count = 1; count <= 1 << 19; count = count * 3 + 1) {
    double *a = malloc(sizeof(double) * (size_t)count), *b = malloc(sizeof(double) * (size_t)count);
    for (i = 0; i < count; i++) a[i] = rank + i % 17;
    OK(MPI_Allreduce(a, b, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
    for (i = 0; i < count; i++) bad += b[i] != size * (size - 1) / 2.0 + size * (i % 17);
    for (i = 0; i < count; i++) b[i] = rank == size / 2 ? i : -1;
    OK(MPI_Bcast(b, count, MPI_DOUBLE, size / 2, MPI_COMM_WORLD));
    for (i = 0; i < count; i++) bad += b[i] != i;
    free(a);
    free(b);
  }
  CHECK(bad == 0);
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  bcast_columns(5);
  bcast_columns(4000);
  bcast_columns(100000);
  gather_transposes(4);
  gather_transposes(3000);
  alltoallw_mixed();
  large_forms();
  sweep();
  return check_finalize();
}
