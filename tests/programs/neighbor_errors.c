/* SPDX-License-Identifier: BSD-3-Clause */
/* What could go wrong: a block that is longer than its receiver has room for is not an error, writes over
   other memory, or disturbs the next call; if it shares a message with others on its way to another host, and
   if it is too long for that. */
#include "check.h"

#define ROOM 8
#define LONGEST 20000

static int rank, size, *counts, *room, *sdispls, *rdispls;
static char *out, *in;

/* Rank 0 sends this to the last rank; all other blocks have ROOM bytes. */
static void call(MPI_Comm full, int bytes) {
  int i;
  counts[size - 1] = rank == 0 ? bytes : ROOM;
  memset(in, -1, (size_t)(size + 1) * ROOM);
  if (rank == size - 1 && bytes > ROOM)
    CHECK_CLASS(MPI_Neighbor_alltoallv(out, counts, sdispls, MPI_CHAR, in, room, rdispls, MPI_CHAR, full),
                MPI_ERR_TRUNCATE);
  else
    OK(MPI_Neighbor_alltoallv(out, counts, sdispls, MPI_CHAR, in, room, rdispls, MPI_CHAR, full));
  for (i = ROOM; i < size * ROOM; i++) CHECK(in[i] == i / ROOM);
  for (i = 0; i < ROOM; i++) CHECK(in[size * ROOM + i] == -1);
}

int main(int argc, char** argv) {
  MPI_Comm full;
  int i, *all;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  all = malloc(sizeof(int) * (size_t)size), counts = malloc(sizeof(int) * (size_t)size);
  room = malloc(sizeof(int) * (size_t)size), rdispls = malloc(sizeof(int) * (size_t)size);
  sdispls = calloc((size_t)size, sizeof(int));
  out = malloc(LONGEST), in = malloc((size_t)(size + 1) * ROOM);
  memset(out, rank, LONGEST);
  for (i = 0; i < size; i++) all[i] = i, rdispls[i] = i * ROOM, counts[i] = room[i] = ROOM;
  OK(MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, size, all, MPI_UNWEIGHTED, size, all, MPI_UNWEIGHTED,
                                    MPI_INFO_NULL, 0, &full));
  OK(MPI_Comm_set_errhandler(full, MPI_ERRORS_RETURN));
  call(full, ROOM);
  call(full, ROOM + 1);
  call(full, ROOM);
  call(full, LONGEST);
  call(full, ROOM);
  OK(MPI_Comm_free(&full));
  free(all), free(counts), free(room), free(rdispls), free(sdispls), free(out), free(in);
  return check_finalize();
}
