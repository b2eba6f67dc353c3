/* SPDX-License-Identifier: BSD-3-Clause */
/* What could go wrong: shared memory that gets full under a running job ends it with SIGBUS, or makes a
   collective hang or return wrong data, because pages were mapped that do not exist; the library does not use
   shared memory again when there is space. shm_full.py runs it in a mount namespace with its own small
   /dev/shm. */
#include <errno.h>
#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "check.h"

#define SMALL (64 << 20)
#define LONG 100000

static const char* const kFile = "/dev/shm/filler";

/* Takes all free memory. */
static void fill(void) {
  static char page[4096];
  int fd = open(kFile, O_CREAT | O_EXCL | O_WRONLY, 0600);
  ssize_t written = 0;
  CHECK(fd >= 0);
  memset(page, 1, sizeof page);
  while ((written = write(fd, page, sizeof page)) > 0) continue;
  CHECK(written < 0 && errno == ENOSPC);
  close(fd);
}

static void work(MPI_Comm comm) {
  int rank = 0, size = 0, sum = 0, i;
  int* many = malloc(LONG * sizeof(int));
  OK(MPI_Comm_rank(comm, &rank));
  OK(MPI_Comm_size(comm, &size));
  for (i = 0; i < 20; i++) {
    OK(MPI_Barrier(comm));
    OK(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm));
    CHECK(sum == size * (size - 1) / 2);
  }
  for (i = 0; i < LONG; i++) many[i] = rank == size - 1 ? i : -1;
  OK(MPI_Bcast(many, LONG, MPI_INT, size - 1, comm));
  for (i = 0; i < LONG && many[i] == i; i++) continue;
  CHECK(i == LONG);
  OK(MPI_Sendrecv_replace(many, LONG, MPI_INT, (rank + 1) % size, 5, (rank + size - 1) % size, 5, comm,
                          MPI_STATUS_IGNORE));
  CHECK(many[LONG - 1] == LONG - 1);
  free(many);
}

/* A window that does not fit into shared memory lies elsewhere; one that must be there is refused. */
static void windows(int room) {
  MPI_Win win;
  int *base, rank = 0, size = 0, value;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  CHECK_CLASS(MPI_Win_allocate_shared(10000, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win),
              room || size == 1 ? MPI_SUCCESS : MPI_ERR_NO_MEM);
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
  if (room || size == 1) OK(MPI_Win_free(&win));
  OK(MPI_Win_allocate(10000, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &base, &win));
  value = rank;
  OK(MPI_Win_fence(0, win));
  OK(MPI_Put(&value, 1, MPI_INT, (rank + 1) % size, 9000, 1, MPI_INT, win));
  OK(MPI_Win_fence(0, win));
  CHECK(base[9000 / 4] == (rank + size - 1) % size);
  OK(MPI_Win_free(&win));
}

int main(int argc, char** argv) {
  struct statvfs space;
  MPI_Comm before, full, after;
  int rank = 0;
  if (statvfs("/dev/shm", &space) != 0 || space.f_blocks * space.f_frsize > SMALL) {
    fprintf(stderr, "failed: /dev/shm is not a small one made for this program\n");
    return 2;
  }
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &before));
  work(before);
  if (rank == 0) fill();
  OK(MPI_Barrier(MPI_COMM_WORLD));
  work(before);
  work(MPI_COMM_WORLD);
  OK(MPI_Comm_dup(MPI_COMM_WORLD, &full));
  work(full);
  windows(0);
  if (rank == 0) CHECK(unlink(kFile) == 0);
  OK(MPI_Barrier(MPI_COMM_WORLD));
  windows(1);
  OK(MPI_Comm_dup(full, &after));
  work(after);
  work(full);
  OK(MPI_Comm_free(&before));
  OK(MPI_Comm_free(&full));
  OK(MPI_Comm_free(&after));
  return check_finalize();
}
