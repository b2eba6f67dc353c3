/* SPDX-License-Identifier: BSD-3-Clause */
/* finalize_crash.c CASE: prints "passed" and then fails, in MPI_Finalize or after it. A runner that reads
   only the output takes it for a success. */
#include <mpi.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

static int crash(MPI_Comm comm, int key, void* value, void* extra) {
  (void)comm, (void)key, (void)value, (void)extra;
  raise(SIGSEGV);
  return MPI_SUCCESS;
}

int main(int argc, char** argv) {
  const char* const point = argc > 1 ? argv[1] : "";
  int rank, key;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (strcmp(point, "in") == 0 && rank == 0) {
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, crash, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, &key);
  }
  if (rank == 0) printf("passed\n"), fflush(stdout);
  MPI_Finalize();
  if (strcmp(point, "after") == 0 && rank == 0) raise(SIGSEGV);
  return strcmp(point, "code") == 0;
}
