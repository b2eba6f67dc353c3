/* SPDX-License-Identifier: BSD-3-Clause */
/* What could go wrong with HERALD_PROGRESS (given as the argument too): with `thread`, messages and
   nonblocking collectives do not progress until the program calls; with `off` there is a thread; the thread
   survives MPI_Finalize. On 2 ranks and more. */
#include <dirent.h>
#include <time.h>
#include <unistd.h>

#include "check.h"

enum { kBytes = 1 << 20, kLimitSeconds = 60 };

static int threads(void) {
  int count = 0;
  DIR* tasks = opendir("/proc/self/task");
  for (struct dirent* task = readdir(tasks); task != NULL; task = readdir(tasks))
    count += task->d_name[0] != '.';
  closedir(tasks);
  return count;
}

/* Without a call into the library. */
static int comes(const volatile char* byte, char value) {
  const time_t end = time(NULL) + kLimitSeconds;
  while (*byte != value && time(NULL) < end) usleep(1000);
  return *byte == value;
}

int main(int argc, char** argv) {
  int rank, size;
  MPI_Request request;
  const int alone = threads();
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const int progressed = argc > 1 && strcmp(argv[1], "thread") == 0;
  CHECK(threads() == alone + progressed);
  char *out = malloc(kBytes), *in = malloc(kBytes);
  for (int turn = 1; turn < 20; turn++) {
    const int next = (rank + 1) % size, before = (rank + size - 1) % size;
    MPI_Request send;
    memset(out, turn, kBytes);
    memset(in, 0, kBytes);
    OK(MPI_Irecv(in, kBytes, MPI_CHAR, before, 0, MPI_COMM_WORLD, &request));
    OK(MPI_Isend(out, kBytes, MPI_CHAR, next, 0, MPI_COMM_WORLD, &send));
    if (progressed) CHECK(comes(&in[0], (char)turn) && comes(&in[kBytes - 1], (char)turn));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    OK(MPI_Wait(&send, MPI_STATUS_IGNORE));
    CHECK(memchr(in, 0, kBytes) == NULL);
    memset(in, rank == 0 ? turn : 0, kBytes);
    OK(MPI_Ibcast(in, kBytes, MPI_CHAR, 0, MPI_COMM_WORLD, &request));
    if (progressed) CHECK(comes(&in[kBytes / 2], (char)turn));
    OK(MPI_Wait(&request, MPI_STATUS_IGNORE));
    CHECK(in[0] == turn && in[kBytes - 1] == turn);
  }
  free(out);
  free(in);
  const int failed = check_finalize();
  return failed + (threads() != alone);
}
