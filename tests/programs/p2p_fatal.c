/* SPDX-License-Identifier: BSD-3-Clause */
/* What could go wrong: an error under the default handler that does not end the whole job, or ends it without
   saying which rank, call and argument; a rank that dies or leaves while others wait for it, and the job
   hangs. The first argument says which. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char** argv) {
  int rank, size, value = 0;
  const char* what = argc > 1 ? argv[1] : "rank";
  if (!strcmp(what, "before_init")) return MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (!strcmp(what, "after_finalize")) {
    MPI_Finalize();
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return 0;
  }
  if (rank == size - 1) {
    if (!strcmp(what, "rank")) MPI_Send(&value, 1, MPI_INT, size, 0, MPI_COMM_WORLD);
    if (!strcmp(what, "later")) MPI_Comm_remote_size(MPI_COMM_WORLD, &value);
    if (!strcmp(what, "abort")) MPI_Abort(MPI_COMM_WORLD, 17);
    if (!strcmp(what, "killed")) raise(SIGKILL);
    if (!strcmp(what, "segv")) raise(SIGSEGV);
    if (!strcmp(what, "exit")) exit(5);
    if (!strcmp(what, "exit0")) exit(0);
  }
  /* the others wait for a message that never comes */
  MPI_Recv(&value, 1, MPI_INT, size - 1, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  MPI_Finalize();
  return 0;
}
