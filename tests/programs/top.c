/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks that `herald top` can tell apart, until the job is ended: 0 computes, 1 waits for it, 2 and 3
 * exchange messages of 1000 bytes, 4 sends to 0, which does not receive. */
#include <mpi.h>
#include <stdio.h>
#include <unistd.h>

int main(int argc, char** argv) {
  static char data[1000];
  int rank, peer;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 0) {
    volatile double sum = 0;
    printf("ready\n");
    fflush(stdout);
    for (;;) {
      sum = sum + 1;
      if (sum > 1e6) {
        usleep(10000);
        sum = 0;
      }
    }
  }
  if (rank == 1) MPI_Recv(data, 1, MPI_CHAR, 0, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  if (rank == 4) MPI_Ssend(data, 1, MPI_CHAR, 0, 8, MPI_COMM_WORLD);
  peer = rank == 2 ? 3 : 2;
  for (;;) {
    if (rank == 2) MPI_Send(data, sizeof data, MPI_CHAR, peer, 9, MPI_COMM_WORLD);
    MPI_Recv(data, sizeof data, MPI_CHAR, peer, 9, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 3) MPI_Send(data, sizeof data, MPI_CHAR, peer, 9, MPI_COMM_WORLD);
  }
}
