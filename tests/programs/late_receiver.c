/* SPDX-License-Identifier: BSD-3-Clause */
/* What could go wrong when ranks send and the receiver waits for another message: it buffers unexpected
   messages without limit; a message that it does not buffer is lost, overtaken, or blocks the awaited
   message. */
#include <unistd.h>

#include "check.h"

enum { kMessages = 50000, kBytes = 4096, kFlood = 1, kOther = 2 };
static const double kMiB = 1024.0 * 1024.0;
static const double kKept = 8;     /* MiB: the pushed buffer, and messages in flight */
static const double kRecords = 24; /* MiB: with a record of each message that its sender has not ended */

static double resident(void) { /* MiB */
  long pages = 0, skipped = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  CHECK(file != NULL && fscanf(file, "%ld %ld", &skipped, &pages) == 2);
  if (file != NULL) fclose(file);
  return (double)pages * (double)sysconf(_SC_PAGESIZE) / kMiB;
}

static void fill(unsigned char* bytes, int size, int number) {
  for (int i = 0; i < size; i++) bytes[i] = (unsigned char)(number * 7 + i);
}

/* The memory that the process took until the awaited message arrived, in MiB. */
static double kept_until_other(int from) {
  const double before = resident();
  MPI_Recv(NULL, 0, MPI_BYTE, from, kOther, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
  const double more = resident() - before;
  printf("%.1f MiB more\n", more);
  return more;
}

static void receive_flood(int count, int size) {
  static unsigned char got[kBytes], wanted[kBytes];
  int wrong = 0;
  for (int i = 0; i < count; i++) {
    MPI_Status status;
    int bytes = -1;
    memset(got, 0xff, sizeof got);
    MPI_Recv(got, kBytes, MPI_BYTE, 1, kFlood, MPI_COMM_WORLD, &status);
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    fill(wanted, size, i);
    wrong += bytes != size || memcmp(got, wanted, (size_t)size) != 0;
  }
  CHECK(wrong == 0);
}

/* Rank 1 sends as long as flow control allows; rank 2 later sends the message that rank 0 waits for. */
static void blocking(int rank, int count, int size) {
  static unsigned char bytes[kBytes];
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) {
    for (int i = 0; i < count; i++) {
      fill(bytes, size, i);
      MPI_Send(bytes, size, MPI_BYTE, 0, kFlood, MPI_COMM_WORLD);
    }
  } else if (rank == 2) {
    usleep(500000);
    MPI_Send(NULL, 0, MPI_BYTE, 0, kOther, MPI_COMM_WORLD);
  } else if (rank == 0) {
    CHECK(kept_until_other(2) < kKept);
    receive_flood(count, size);
  }
}

/* Rank 1 starts them all, and then the message that rank 0 waits for. */
static void nonblocking(int rank, int count, int size) {
  MPI_Barrier(MPI_COMM_WORLD);
  if (rank == 1) {
    unsigned char* bytes = malloc((size_t)count * (size_t)size);
    MPI_Request* sends = malloc(sizeof *sends * (size_t)count);
    CHECK(bytes != NULL && sends != NULL);
    if (bytes == NULL || sends == NULL) MPI_Abort(MPI_COMM_WORLD, 3);
    for (int i = 0; i < count; i++) {
      unsigned char* each = bytes + (size_t)i * (size_t)size;
      fill(each, size, i);
      MPI_Isend(each, size, MPI_BYTE, 0, kFlood, MPI_COMM_WORLD, &sends[i]);
    }
    MPI_Send(NULL, 0, MPI_BYTE, 0, kOther, MPI_COMM_WORLD);
    MPI_Waitall(count, sends, MPI_STATUSES_IGNORE);
    free(sends);
    free(bytes);
  } else if (rank == 0) {
    CHECK(kept_until_other(1) < kRecords);
    receive_flood(count, size);
  }
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (size < 3) {
    if (rank == 0) fprintf(stderr, "late_receiver: start it with 3 ranks\n");
    MPI_Abort(MPI_COMM_WORLD, 2);
  }
  blocking(rank, kMessages, kBytes);
  nonblocking(rank, kMessages, kBytes);
  blocking(rank, kMessages * 4, 8);
  blocking(rank, kMessages * 4, 0);
  return check_finalize();
}
