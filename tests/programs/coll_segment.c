// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: communicators that are made and freed leave files in /dev/shm or exhaust descriptors;
// a communicator without a segment (HERALD_COLL_SEGMENT_BYTES=0) does not work; a rank that dies in the
// middle of a collective leaves the others waiting. `coll_segment die`: rank 1 kills itself.
#include <dirent.h>
#include <mpi.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "check.h"

enum { kCycles = 1000, kDeath = 100, kItems = 30000 };

static int rank, size;

static int descriptors(void) {
  int count = 0;
  DIR* listing = opendir("/proc/self/fd");
  while (listing != NULL && readdir(listing) != NULL) count++;
  if (listing != NULL) closedir(listing);
  return count;
}

static int files_of_this_job(void) {
  const char* job = getenv("HERALD_JOB_ID");
  int count = 0;
  DIR* listing = opendir("/dev/shm");
  struct dirent* entry;
  while (listing != NULL && (entry = readdir(listing)) != NULL)
    if (job != NULL && *job != '\0' && strstr(entry->d_name, job) != NULL) count++;
  if (listing != NULL) closedir(listing);
  return count;
}

static void use(MPI_Comm comm, int round) {
  int i, sum = 0, mine = rank + round, here = round;
  for (i = 0; i < 4; i++) {
    OK(MPI_Allreduce(&mine, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK(sum == size * (size - 1) / 2 + size * round);
    if (rank != i % size) here = -1;
    OK(MPI_Bcast(&here, 1, MPI_INT, i % size, comm));
    CHECK(here == round);
  }
}

static void come_and_go(void) {
  int i, before = 0;
  MPI_Comm comm;
  for (i = 0; i < kCycles; i++) {
    if (i == kCycles / 2) before = descriptors();
    OK(MPI_Comm_dup(MPI_COMM_WORLD, &comm));
    use(comm, i);
    OK(MPI_Comm_free(&comm));
  }
  CHECK(descriptors() <= before);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  CHECK(files_of_this_job() == 0);
}

// The same results with long data, which is read in place.
static void long_data(void) {
  int i, round;
  double *in = malloc(kItems * sizeof *in), *out = malloc(kItems * sizeof *out);
  for (round = 0; round < 6; round++) {
    for (i = 0; i < kItems; i++) in[i] = rank + i % 100 + round;
    OK(MPI_Allreduce(in, out, kItems, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD));
    for (i = 0; i < kItems; i++)
      if (out[i] != size * (size - 1) / 2 + size * (i % 100 + round)) break;
    CHECK(i == kItems);
  }
  free(in);
  free(out);
}

static void die(void) {
  int i, value = 0;
  for (i = 0;; i++) {
    if (rank == 1 && i == kDeath) raise(SIGKILL);
    OK(MPI_Allreduce(MPI_IN_PLACE, &value, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD));
  }
}

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  if (argc > 1 && strcmp(argv[1], "die") == 0) die();
  come_and_go();
  long_data();
  return check_finalize();
}
