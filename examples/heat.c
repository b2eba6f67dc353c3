// SPDX-License-Identifier: BSD-3-Clause
// heat.c: heat conduction in a square plate (Jacobi iteration). Each rank owns a band of rows and exchanges
// border rows with its neighbours while it computes the inner rows. Rank 0 then computes the whole plate and
// compares: both results must be identical.
//   mpicc -O2 heat.c -o heat && mpiexec -n 4 ./heat [points a side] [steps]
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Computes rows `first` to `last` (excluded) of `next` from `now`; a row has n + 2 points with its two
// borders.
static void relax(const double* now, double* next, int n, int first, int last) {
  const int width = n + 2;
  for (int i = first; i < last; ++i)
    for (int j = 1; j <= n; ++j) {
      const double* at = now + (size_t)i * width + j;
      next[(size_t)i * width + j] = 0.25 * (at[-width] + at[width] + at[-1] + at[1]);
    }
}

// A plate of `rows` rows and a border; the upper border is hot if this is the top of the whole plate.
static double* plate(int rows, int n, int is_top) {
  double* points = calloc((size_t)(rows + 2) * (n + 2), sizeof *points);
  if (points == NULL) {
    fprintf(stderr, "heat: no memory for %d rows of %d points\n", rows, n);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  for (int j = 0; is_top && j < n + 2; ++j) points[j] = 100;
  return points;
}

static void swap(double** a, double** b) {
  double* c = *a;
  *a = *b;
  *b = c;
}

// This rank's band after all steps.
static double* run_band(int rows, int n, int steps, int up, int down) {
  const int width = n + 2;
  double *now = plate(rows, n, up == MPI_PROC_NULL), *next = plate(rows, n, up == MPI_PROC_NULL);
  for (int step = 0; step < steps; ++step) {
    MPI_Request trades[4];
    MPI_Irecv(now, width, MPI_DOUBLE, up, 0, MPI_COMM_WORLD, &trades[0]);
    MPI_Irecv(now + (size_t)(rows + 1) * width, width, MPI_DOUBLE, down, 1, MPI_COMM_WORLD, &trades[1]);
    MPI_Isend(now + width, width, MPI_DOUBLE, up, 1, MPI_COMM_WORLD, &trades[2]);
    MPI_Isend(now + (size_t)rows * width, width, MPI_DOUBLE, down, 0, MPI_COMM_WORLD, &trades[3]);
    relax(now, next, n, 2, rows);
    MPI_Waitall(4, trades, MPI_STATUSES_IGNORE);
    relax(now, next, n, 1, 2);
    if (rows > 1) relax(now, next, n, rows, rows + 1);
    swap(&now, &next);
  }
  free(next);
  return now;
}

// Rows that rank `r` owns, of n.
static int rows_of(int r, int n, int size) { return n / size + (r < n % size); }

// Rank 0 receives every band and compares it with its own result.
static int compare(const double* mine, int n, int steps, int size) {
  const int width = n + 2;
  double *now = plate(n, n, 1), *next = plate(n, n, 1), *band = plate(n, n, 0);
  for (int step = 0; step < steps; ++step) {
    relax(now, next, n, 1, n + 1);
    swap(&now, &next);
  }
  int wrong = 0;
  size_t row = 1;
  for (int r = 0; r < size; ++r) {
    const int rows = rows_of(r, n, size);
    const double* theirs = mine + width;
    if (r != 0) {
      MPI_Recv(band, rows * width, MPI_DOUBLE, r, 2, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
      theirs = band;
    }
    wrong |= memcmp(theirs, now + row * width, sizeof(double) * width * rows) != 0;
    row += rows;
  }
  double sum = 0;
  for (int i = 1; i <= n; ++i)
    for (int j = 1; j <= n; ++j) sum += now[(size_t)i * width + j];
  printf("%d by %d points, %d steps, %d ranks: mean %.6f, %s\n", n, n, steps, size, sum / n / n,
         wrong ? "WRONG" : "equal to the plate computed alone");
  free(now);
  free(next);
  free(band);
  return wrong;
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int n = argc > 1 ? atoi(argv[1]) : 200, steps = argc > 2 ? atoi(argv[2]) : 200;
  if (n < size || steps < 0) {
    if (rank == 0)
      fprintf(stderr, "heat: needs at least one row of points for each rank, and no negative steps\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  const int rows = rows_of(rank, n, size);
  double* band = run_band(rows, n, steps, rank > 0 ? rank - 1 : MPI_PROC_NULL,
                          rank + 1 < size ? rank + 1 : MPI_PROC_NULL);
  int wrong = 0;
  if (rank == 0)
    wrong = compare(band, n, steps, size);
  else
    MPI_Send(band + n + 2, rows * (n + 2), MPI_DOUBLE, 0, 2, MPI_COMM_WORLD);
  free(band);
  MPI_Finalize();
  return wrong;
}
