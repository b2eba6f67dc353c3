// SPDX-License-Identifier: BSD-3-Clause
// pi.c: pi as the integral of 4 / (1 + x * x) from 0 to 1; the ranks share the slices.
//   mpicc pi.c -o pi -lm && mpiexec -n 4 ./pi [slices]
#include <math.h>
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);

  long slices = 0;
  if (rank == 0) slices = argc > 1 ? atol(argv[1]) : 1000000;
  MPI_Bcast(&slices, 1, MPI_LONG, 0, MPI_COMM_WORLD);
  if (slices < 1) {
    if (rank == 0) fprintf(stderr, "pi: the number of slices must be at least 1\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }

  double part = 0, pi = 0;
  for (long i = rank; i < slices; i += size) {
    const double x = (i + 0.5) / slices;
    part += 4 / (1 + x * x);
  }
  part /= slices;
  MPI_Reduce(&part, &pi, 1, MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD);

  int wrong = 0;
  if (rank == 0) {
    const double error = fabs(pi - acos(-1.0));
    wrong = error > 1.0 / slices / slices + 1e-12;
    printf("pi is about %.15f, error %.1e, with %ld slices on %d ranks\n", pi, error, slices, size);
  }
  MPI_Finalize();
  return wrong;
}
