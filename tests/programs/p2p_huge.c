/* SPDX-License-Identifier: BSD-3-Clause */
/* What could go wrong: a message of more than 2 GiB is cut, or its parts are put in the wrong place, where an
   int or 32 bits are used for a length. Needs about 5 GiB of memory, and is skipped otherwise. */
#include <unistd.h>

#include "check.h"

static const size_t kBytes = ((size_t)1 << 31) + 12345;

/* The distance of checked bytes: no power of two, so that data shifted by one is seen. */
enum { kStep = 61 };

static char pattern(size_t i) { return (char)(i * 7 + (i >> 20) + (i >> 31)); }

int main(int argc, char** argv) {
  int rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const double free_bytes = (double)sysconf(_SC_AVPHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
  int enough = free_bytes > 3.0 * (double)kBytes;
  MPI_Bcast(&enough, 1, MPI_INT, 0, MPI_COMM_WORLD);
  if (!enough) {
    if (rank == 0) printf("skipped: too little free memory\n");
    MPI_Finalize();
    return 77;
  }
  char* data = malloc(kBytes);
  if (rank == 0) {
    for (size_t i = 0; i < kBytes; i += kStep) data[i] = pattern(i);
    data[kBytes - 1] = 42;
    OK(MPI_Send_c(data, (MPI_Count)kBytes, MPI_CHAR, 1, 3, MPI_COMM_WORLD));
  } else {
    MPI_Status status;
    MPI_Count count = 0;
    OK(MPI_Recv_c(data, (MPI_Count)kBytes, MPI_CHAR, 0, 3, MPI_COMM_WORLD, &status));
    MPI_Get_count_c(&status, MPI_CHAR, &count);
    CHECK(count == (MPI_Count)kBytes);
    size_t wrong = 0;
    for (size_t i = 0; i < kBytes - 1; i += kStep) wrong += data[i] != pattern(i);
    CHECK(wrong == 0);
    CHECK(data[kBytes - 1] == 42);
  }
  free(data);
  return check_finalize();
}
