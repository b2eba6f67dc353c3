// SPDX-License-Identifier: BSD-3-Clause
// groups.c: one rank sends to a few others repeatedly. The program opens the group before the loop and closes
// it after it; ranks without data return immediately. A compiler could transform a loop around MPI_Scatterv
// in this way.
//   mpicc groups.c -o groups && mpiexec -n 8 ./groups [times]
#include <mpi.h>
#include <mpix.h>
#include <stdio.h>
#include <stdlib.h>

enum { kItems = 16, kMost = 1024 };

int main(int argc, char** argv) {
  static int counts[kMost], places[kMost], all[kMost * kItems];
  int rank, size, mine[kItems], wrong = 0, sum = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int times = argc > 1 ? atoi(argv[1]) : 100;
  if (size > kMost) MPI_Abort(MPI_COMM_WORLD, 1);

  // Rank 0 sends to ranks 1 to 5.
  for (int i = 0; i < size; ++i) {
    counts[i] = i >= 1 && i <= 5 ? kItems : 0;
    places[i] = i * kItems;
  }
  MPI_Request group;
  MPIX_Scatterv_open_group(all, counts, places, MPI_INT, mine, counts[rank], MPI_INT, 0, MPI_COMM_WORLD,
                           &group);
  const double start = MPI_Wtime();
  for (int turn = 0; turn < times; ++turn) {
    for (int i = 0; rank == 0 && i < size * kItems; ++i) all[i] = i + turn;
    MPIX_Scatterv_data_movement(&group);
    for (int i = 0; i < counts[rank]; ++i) wrong += mine[i] != rank * kItems + i + turn;
  }
  const double seconds = MPI_Wtime() - start;
  MPIX_Scatterv_close_group(&group);

  MPI_Allreduce(&wrong, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
  if (rank == 0)
    printf("%d times from one rank to %d of %d: %.2f us each, %d wrong\n", times, size > 6 ? 5 : size - 1,
           size, times > 0 ? seconds / times * 1e6 : 0.0, sum);
  MPI_Finalize();
  return sum != 0;
}
