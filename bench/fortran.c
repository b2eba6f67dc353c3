/* SPDX-License-Identifier: BSD-3-Clause */
/* What the Fortran bindings cost over C: nanoseconds of a call for 8 bytes.
 *   mpiexec -n 1 bench_fortran      send and receive with MPI_PROC_NULL: the wrapper and the checks alone
 *   mpiexec -n 2 bench_fortran      also a ping-pong between the two ranks, per half round trip
 * The bindings take turns in short rounds. The shortest round of each counts, so that other load does not. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>

enum { kStyles = 4, kCalls = 200, kRounds = 4000 };
typedef void Loop(int calls, int partner, int first, double* buffer);
void loop_mpif(int calls, int partner, int first, double* buffer);
void loop_mpi(int calls, int partner, int first, double* buffer);
void loop_f08(int calls, int partner, int first, double* buffer);

static void loop_c(int calls, int partner, int first, double* buffer) {
  MPI_Status status;
  for (int i = 0; i < calls; i++) {
    if (first) MPI_Send(buffer, 1, MPI_DOUBLE, partner, 0, MPI_COMM_WORLD);
    MPI_Recv(buffer, 1, MPI_DOUBLE, partner, 0, MPI_COMM_WORLD, &status);
    if (!first) MPI_Send(buffer, 1, MPI_DOUBLE, partner, 0, MPI_COMM_WORLD);
  }
}

static Loop* const loops[kStyles] = {loop_c, loop_mpif, loop_mpi, loop_f08};
static const char* const names[kStyles] = {"C", "mpif.h", "mpi", "mpi_f08"};

static void measure(const char* what, int partner, int first, int print) {
  double shortest[kStyles] = {0};
  double buffer = 1;
  for (int round = 0; round < kRounds; round++) {
    for (int style = 0; style < kStyles; style++) {
      const double start = MPI_Wtime();
      loops[style](kCalls, partner, first, &buffer);
      const double ns = (MPI_Wtime() - start) * 1e9 / (2 * kCalls);
      if (round == 0 || ns < shortest[style]) shortest[style] = ns;
    }
  }
  for (int style = 0; style < kStyles && print; style++)
    printf("%-10s %-8s %8.1f ns %+7.1f\n", what, names[style], shortest[style],
           shortest[style] - shortest[0]);
}

int main(int argc, char** argv) {
  int rank = 0;
  int ranks = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (rank == 0) measure("PROC_NULL", MPI_PROC_NULL, 1, 1);
  MPI_Barrier(MPI_COMM_WORLD);
  if (ranks > 1 && rank < 2) measure("ping-pong", 1 - rank, rank == 0, rank == 0);
  MPI_Finalize();
  return 0;
}
