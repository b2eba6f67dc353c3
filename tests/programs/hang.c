/* SPDX-License-Identifier: BSD-3-Clause */
/* Programs that hang; hang.py looks at what is said about them. */
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char** argv) {
  const char* name = argc > 1 ? argv[1] : "";
  int rank, size, data = 0, i;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (strcmp(name, "cycle") == 0) { /* each waits for the next; the last one has sent something else */
    if (rank == size - 1)
      for (i = 0; i < 3; i++) MPI_Send(&data, 1, MPI_INT, 0, 9, MPI_COMM_WORLD);
    MPI_Recv(&data, 1, MPI_INT, (rank + 1) % size, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  } else if (strcmp(name, "barrier") == 0) { /* rank 0 does not come */
    if (rank == 0)
      MPI_Recv(&data, 1, MPI_INT, size - 1, 7, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    else
      MPI_Barrier(MPI_COMM_WORLD);
  } else if (strcmp(name, "finalize") == 0) { /* rank 0 sends what rank 1 never receives */
    if (rank == 0) MPI_Ssend(&data, 1, MPI_INT, 1, 7, MPI_COMM_WORLD);
  } else if (strcmp(name, "waitall") == 0) {
    MPI_Request requests[2];
    if (rank == 0) {
      MPI_Irecv(&data, 1, MPI_INT, 1, 3, MPI_COMM_WORLD, &requests[0]);
      MPI_Issend(&data, 1, MPI_INT, 1, 4, MPI_COMM_WORLD, &requests[1]);
      MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    } else {
      sleep(1000); /* computes */
    }
  }
  MPI_Finalize();
  return 0;
}
