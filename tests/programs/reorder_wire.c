/* SPDX-License-Identifier: BSD-3-Clause */
/* What could go wrong: reorder changes ranks, and as many bytes cross the wire as before. */
#include "counter.h"

enum { kInts = 8000, kSteps = 20 };

static void exchange(MPI_Comm grid) {
  static int out[kInts], in[kInts];
  for (int direction = 0; direction < 2; ++direction)
    for (int way = -1; way <= 1; way += 2) {
      int from, to, rank;
      MPI_Comm_rank(grid, &rank);
      OK(MPI_Cart_shift(grid, direction, way, &from, &to));
      for (int i = 0; i < kInts; ++i) out[i] = rank * 7 + i;
      OK(MPI_Sendrecv(out, kInts, MPI_INT, to, 0, in, kInts, MPI_INT, from, 0, grid, MPI_STATUS_IGNORE));
      CHECK(in[0] == from * 7 && in[kInts - 1] == from * 7 + kInts - 1);
    }
}

/* Packets of all ranks while a grid of two hosts exchanges its borders. */
static unsigned long long sent(int reorder) {
  int dims[2] = {0, 0}, size, periods[2] = {1, 1};
  MPI_Comm grid;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  OK(MPI_Dims_create(size, 2, dims));
  OK(MPI_Cart_create(MPI_COMM_WORLD, 2, dims, periods, reorder, &grid));
  OK(MPI_Barrier(grid));
  unsigned long long mine = counted(), all;
  for (int step = 0; step < kSteps; ++step) exchange(grid);
  OK(MPI_Barrier(grid));
  mine = counted() - mine;
  OK(MPI_Allreduce(&mine, &all, 1, MPI_UNSIGNED_LONG_LONG, MPI_SUM, MPI_COMM_WORLD));
  OK(MPI_Comm_free(&grid));
  return all;
}

int main(int argc, char** argv) {
  OK(MPI_Init(&argc, &argv));
  open_counter("herald_packets_sent");
  (void)sent(0); /* the first contact of all ranks */
  const unsigned long long plain = sent(0), reordered = sent(1);
  CHECK(plain > 0);
  CHECK(reordered * 4 < plain * 3); /* half the edges cross */
  close_counter();
  return check_finalize();
}
