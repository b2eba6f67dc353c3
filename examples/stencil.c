// SPDX-License-Identifier: BSD-3-Clause
// stencil.c: heat conduction in a square plate on a two-dimensional grid of ranks. One persistent
// neighborhood collective exchanges all four borders of a block, rows and columns alike, while its inner
// points are computed. Rank 0 then computes the whole plate and compares: both results must be identical.
//   mpicc -O2 stencil.c -o stencil && mpiexec -n 4 ./stencil [points a side] [steps]
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

// A block of the plate: rows x columns points, with a border of one point on each side.
typedef struct {
  int rows, columns, first_row, first_column;
  double *now, *next;
} Block;

static double* points(int rows, int columns) {
  double* memory = calloc((size_t)(rows + 2) * (columns + 2), sizeof *memory);
  if (memory == NULL) {
    fprintf(stderr, "stencil: no memory for %d by %d points\n", rows, columns);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  return memory;
}

// The upper border of the plate is hot.
static Block make_block(int rows, int columns, int first_row, int first_column) {
  Block b = {rows, columns, first_row, first_column, points(rows, columns), points(rows, columns)};
  for (int j = 0; first_row == 0 && j < columns + 2; ++j) b.now[j] = b.next[j] = 100;
  return b;
}

static double* at(const Block* b, double* memory, int i, int j) {
  return memory + (size_t)i * (b->columns + 2) + j;
}

static void relax(const Block* b, int first_row, int last_row, int first_column, int last_column) {
  const int width = b->columns + 2;
  for (int i = first_row; i <= last_row; ++i)
    for (int j = first_column; j <= last_column; ++j) {
      const double* p = at(b, b->now, i, j);
      *at(b, b->next, i, j) = 0.25 * (p[-width] + p[width] + p[-1] + p[1]);
    }
}

static void swap(Block* b) {
  double* now = b->now;
  b->now = b->next;
  b->next = now;
}

// An exchange of the borders of `memory`. Neighbours come in the order up, down, left, right.
static MPI_Request borders(const Block* b, double* memory, MPI_Datatype row, MPI_Datatype column,
                           MPI_Comm grid) {
  const int counts[4] = {1, 1, 1, 1};
  const MPI_Datatype types[4] = {row, row, column, column};
  const double* inner[4] = {at(b, memory, 1, 1), at(b, memory, b->rows, 1), at(b, memory, 1, 1),
                            at(b, memory, 1, b->columns)};
  const double* outer[4] = {at(b, memory, 0, 1), at(b, memory, b->rows + 1, 1), at(b, memory, 1, 0),
                            at(b, memory, 1, b->columns + 1)};
  MPI_Aint from[4], to[4];
  for (int k = 0; k < 4; ++k) {
    from[k] = (MPI_Aint)((inner[k] - memory) * (long)sizeof(double));
    to[k] = (MPI_Aint)((outer[k] - memory) * (long)sizeof(double));
  }
  MPI_Request request;
  MPI_Neighbor_alltoallw_init(memory, counts, from, types, memory, counts, to, types, grid, MPI_INFO_NULL,
                              &request);
  return request;
}

static void run(Block* b, int steps, MPI_Comm grid) {
  MPI_Datatype row, column;
  MPI_Type_contiguous(b->columns, MPI_DOUBLE, &row);
  MPI_Type_vector(b->rows, 1, b->columns + 2, MPI_DOUBLE, &column);
  MPI_Type_commit(&row);
  MPI_Type_commit(&column);
  MPI_Request exchange[2] = {borders(b, b->now, row, column, grid), borders(b, b->next, row, column, grid)};
  for (int step = 0; step < steps; ++step) {
    MPI_Start(&exchange[step % 2]);
    relax(b, 2, b->rows - 1, 2, b->columns - 1);
    MPI_Wait(&exchange[step % 2], MPI_STATUS_IGNORE);
    relax(b, 1, 1, 1, b->columns);
    if (b->rows > 1) relax(b, b->rows, b->rows, 1, b->columns);
    relax(b, 2, b->rows - 1, 1, 1);
    if (b->columns > 1) relax(b, 2, b->rows - 1, b->columns, b->columns);
    swap(b);
  }
  MPI_Request_free(&exchange[0]);
  MPI_Request_free(&exchange[1]);
  MPI_Type_free(&row);
  MPI_Type_free(&column);
}

// The points of dimension `dim` that coordinate c owns, and the first of them.
static int share(int n, int parts, int c) { return n / parts + (c < n % parts); }
static int before(int n, int parts, int c) { return c * (n / parts) + (c < n % parts ? c : n % parts); }

static Block block_of(int n, const int dims[2], const int coords[2]) {
  return make_block(share(n, dims[0], coords[0]), share(n, dims[1], coords[1]), before(n, dims[0], coords[0]),
                    before(n, dims[1], coords[1]));
}

static int differs(const Block* part, const Block* whole) {
  for (int i = 1; i <= part->rows; ++i)
    for (int j = 1; j <= part->columns; ++j)
      if (*at(part, part->now, i, j) != *at(whole, whole->now, part->first_row + i, part->first_column + j))
        return 1;
  return 0;
}

static int compare(const Block* mine, int n, int steps, const int dims[2], MPI_Comm grid) {
  Block whole = make_block(n, n, 0, 0);
  for (int step = 0; step < steps; ++step) {
    relax(&whole, 1, n, 1, n);
    swap(&whole);
  }
  int wrong = differs(mine, &whole);
  for (int r = 1; r < dims[0] * dims[1]; ++r) {
    int coords[2];
    MPI_Cart_coords(grid, r, 2, coords);
    Block part = block_of(n, dims, coords);
    MPI_Recv(part.now, (part.rows + 2) * (part.columns + 2), MPI_DOUBLE, r, 0, grid, MPI_STATUS_IGNORE);
    wrong |= differs(&part, &whole);
    free(part.now);
    free(part.next);
  }
  printf("%d by %d points, %d steps, %d by %d ranks: %s\n", n, n, steps, dims[0], dims[1],
         wrong ? "WRONG" : "equal to the plate computed alone");
  free(whole.now);
  free(whole.next);
  return wrong;
}

int main(int argc, char** argv) {
  int rank, size, dims[2] = {0, 0}, coords[2], wrong = 0;
  const int open[2] = {0, 0};
  MPI_Comm grid;
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int n = argc > 1 ? atoi(argv[1]) : 150, steps = argc > 2 ? atoi(argv[2]) : 100;
  MPI_Dims_create(size, 2, dims);
  if (n < dims[0] || steps < 0) {
    fprintf(stderr, "stencil: needs at least %d points a side, and no negative steps\n", dims[0]);
    MPI_Abort(MPI_COMM_WORLD, 1);
  }
  // With reorder, ranks of one host become neighbours in the grid.
  MPI_Cart_create(MPI_COMM_WORLD, 2, dims, open, 1, &grid);
  MPI_Comm_rank(grid, &rank);
  MPI_Cart_coords(grid, rank, 2, coords);
  Block mine = block_of(n, dims, coords);
  run(&mine, steps, grid);
  if (rank == 0)
    wrong = compare(&mine, n, steps, dims, grid);
  else
    MPI_Send(mine.now, (mine.rows + 2) * (mine.columns + 2), MPI_DOUBLE, 0, 0, grid);
  free(mine.now);
  free(mine.next);
  MPI_Comm_free(&grid);
  MPI_Finalize();
  return wrong;
}
