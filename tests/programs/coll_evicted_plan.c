/* SPDX-License-Identifier: BSD-3-Clause */
/* What could go wrong: one rank has evicted the plan of a call and makes it again, the others have not, and
   meanwhile all know more about the communicator: they choose different algorithms and wait for each
   other's messages for ever. */
#include "check.h"

enum { LONGEST = 6000, CHANNELS = 8, MANY = 300 };
static const int counts[] = {1, 50, 300, 1100, 2500, LONGEST};
static int rank, size, *mine, *all;

static void check_all(int count) {
  int i, from;
  for (from = 0; from < size; from++)
    for (i = 0; i < count; i++) CHECK(all[from * count + i] == from * 7 + i);
}

/* The counts matter at the root only: it makes many plans where the others make one. */
static void forget(MPI_Comm comm) {
  int i, n, *recvcounts = malloc(sizeof(int) * (size_t)size * 2), *displs = recvcounts + size;
  for (n = 0; n < MANY; n++) {
    MPI_Request request;
    for (i = 0; i < size; i++) {
      recvcounts[i] = i == 0 ? n : 1;
      displs[i] = i * MANY;
    }
    OK(MPI_Igatherv(rank == 0 ? MPI_IN_PLACE : mine, 1, MPI_INT, all, recvcounts, displs, MPI_INT, 0, comm,
                    &request));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  }
  free(recvcounts);
}

static void one_size(int count) {
  MPI_Comm comm;
  MPI_Request request, kept[CHANNELS];
  int i;
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
  OK(MPI_Iallgather(mine, count, MPI_INT, all, count, MPI_INT, comm, &request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  check_all(count);
  forget(comm);
  for (i = 0; i < CHANNELS; i++)
    OK(MPI_Barrier_init(comm, MPI_INFO_NULL, &kept[i])); /* these use shared memory */
  OK(MPI_Allgather_init(mine, count, MPI_INT, all, count, MPI_INT, comm, MPI_INFO_NULL, &request));
  memset(all, 0, sizeof(int) * (size_t)(size * count));
  OK(MPI_Start(&request));
  OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
  check_all(count);
  OK(MPI_Request_free(&request));
  for (i = 0; i < CHANNELS; i++) OK(MPI_Request_free(&kept[i]));
  OK(MPI_Comm_free(&comm));
}

int main(int argc, char** argv) {
  int i;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  mine = malloc(sizeof(int) * LONGEST);
  all = malloc(sizeof(int) * LONGEST * (size_t)size);
  for (i = 0; i < LONGEST; i++) mine[i] = rank * 7 + i;
  for (i = 0; i < (int)(sizeof counts / sizeof counts[0]); i++) one_size(counts[i]);
  free(mine);
  free(all);
  return check_finalize();
}
