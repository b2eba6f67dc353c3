// SPDX-License-Identifier: BSD-3-Clause
// ring.c: a token passes through all ranks; each adds its rank to it.
//   mpicc ring.c -o ring && mpiexec -n 4 ./ring [rounds]
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int rounds = argc > 1 ? atoi(argv[1]) : 100;
  const int next = (rank + 1) % size, previous = (rank + size - 1) % size;

  long token = 0;
  const double start = MPI_Wtime();
  for (int round = 0; round < rounds; ++round) {
    if (rank != 0) MPI_Recv(&token, 1, MPI_LONG, previous, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    token += rank;
    if (size > 1) MPI_Send(&token, 1, MPI_LONG, next, 0, MPI_COMM_WORLD);
    if (rank == 0 && size > 1) MPI_Recv(&token, 1, MPI_LONG, previous, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  }
  const double seconds = MPI_Wtime() - start;

  int wrong = 0;
  if (rank == 0) {
    const long expected = (long)rounds * size * (size - 1) / 2;
    wrong = token != expected;
    printf("%d rounds through %d ranks: token %ld, expected %ld, %.2f us a hop\n", rounds, size, token,
           expected, rounds > 0 ? seconds / rounds / size * 1e6 : 0.0);
  }
  MPI_Finalize();
  return wrong;
}
