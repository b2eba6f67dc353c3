/* SPDX-License-Identifier: BSD-3-Clause */
/* What the Fortran bindings cost over C: nanoseconds of one MPI call for 8 bytes.
 *   mpiexec -n 1 bench_fortran      send and receive with MPI_PROC_NULL: the wrapper and the checks alone
 *   mpiexec -n 2 bench_fortran      also a ping-pong between the two ranks; bench_fortran 400 plays 400
 * rounds, not 4000 A round trip is four calls one after the other, two at each rank, so its time is divided
 * by four. A receive that begins before its message is there hides a part of its wrapper: MPI_PROC_NULL shows
 * the whole cost. The bindings take turns in short rounds, and each round begins with another one. The
 * difference of a binding to C is taken within a round, so that other load meets both; the median of these
 * differences is printed, with the medians and the shortest of the calls themselves. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>

enum { kStyles = 4, kTrips = 200, kMaxRounds = 4000 };
static int rounds = kMaxRounds;
typedef void Loop(int trips, int partner, int first, double* buffer);
void loop_mpif(int trips, int partner, int first, double* buffer);
void loop_mpi(int trips, int partner, int first, double* buffer);
void loop_f08(int trips, int partner, int first, double* buffer);

static void loop_c(int trips, int partner, int first, double* buffer) {
  MPI_Status status;
  for (int i = 0; i < trips; i++) {
    if (first) MPI_Send(buffer, 1, MPI_DOUBLE, partner, 0, MPI_COMM_WORLD);
    MPI_Recv(buffer, 1, MPI_DOUBLE, partner, 0, MPI_COMM_WORLD, &status);
    if (!first) MPI_Send(buffer, 1, MPI_DOUBLE, partner, 0, MPI_COMM_WORLD);
  }
}

static Loop* const loops[kStyles] = {loop_c, loop_mpif, loop_mpi, loop_f08};
static const char* const names[kStyles] = {"C", "mpif.h", "mpi", "mpi_f08"};
static double call_ns[kStyles][kMaxRounds];
static double above_c[kStyles][kMaxRounds];

static int compare(const void* a, const void* b) {
  const double x = *(const double*)a;
  const double y = *(const double*)b;
  return (x > y) - (x < y);
}

static void print_row(const char* what, int style) {
  qsort(call_ns[style], rounds, sizeof(double), compare);
  qsort(above_c[style], rounds, sizeof(double), compare);
  printf("%-10s %-8s median %7.1f ns, shortest %7.1f ns, above C %+6.1f ns per call\n", what, names[style],
         call_ns[style][rounds / 2], call_ns[style][0], above_c[style][rounds / 2]);
}

static void measure(const char* what, int partner, int first, int print, int calls_per_trip) {
  double buffer = 1;
  for (int round = 0; round < rounds; round++) {
    for (int turn = 0; turn < kStyles; turn++) {
      const int style = (round + turn) % kStyles;
      const double start = MPI_Wtime();
      loops[style](kTrips, partner, first, &buffer);
      call_ns[style][round] = (MPI_Wtime() - start) * 1e9 / (calls_per_trip * kTrips);
    }
    for (int style = 0; style < kStyles; style++)
      above_c[style][round] = call_ns[style][round] - call_ns[0][round];
  }
  for (int style = 0; style < kStyles && print; style++) print_row(what, style);
}

int main(int argc, char** argv) {
  int rank = 0;
  int ranks = 0;
  MPI_Init(&argc, &argv);
  if (argc > 1 && atoi(argv[1]) > 0 && atoi(argv[1]) < kMaxRounds) rounds = atoi(argv[1]);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  if (rank == 0) measure("PROC_NULL", MPI_PROC_NULL, 1, 1, 2);
  MPI_Barrier(MPI_COMM_WORLD);
  if (ranks > 1 && rank < 2) measure("ping-pong", 1 - rank, rank == 0, rank == 0, 4);
  MPI_Finalize();
  return 0;
}
