/* SPDX-License-Identifier: BSD-3-Clause */
/* p2p_fast_path.c: what could go wrong: a short message between two ranks that exchange such messages costs a
   system call or an allocation. Each rank calls the library while the other is outside of it, so no rank
   waits and the speed of the machine does not matter. System calls are counted where the kernel can dispatch
   them to the process (Linux 5.11), else only allocations. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "check.h"

#ifndef PR_SET_SYSCALL_USER_DISPATCH
#define PR_SET_SYSCALL_USER_DISPATCH 59
#define PR_SYS_DISPATCH_ON 1
#endif

enum { kMessages = 100, kMost = 1024, kAllow = 0, kBlock = 1 };

static volatile char dispatch = kAllow;
static volatile sig_atomic_t calls, allocations, counting;

static void on_call(int number) {
  (void)number;
  dispatch = kAllow;
  calls++;
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) && defined(__GLIBC__)
extern void* __libc_malloc(size_t bytes);
void* malloc(size_t bytes) {
  if (counting) allocations++;
  return __libc_malloc(bytes);
}
#endif

static void count(int on) {
  counting = on;
  dispatch = on ? kBlock : kAllow;
}

static void wait_for(atomic_int* phase, int value) {
  while (atomic_load(phase) < value) sched_yield();
}

/* `kMessages` messages from `from`, one at a time; no other rank is in the library at the same time. */
static void one_way(int from, int rank, atomic_int* phase, int base, int nonblocking) {
  static char out[kMost], in[kMost];
  const int sizes[] = {0, 8, 16, 17, 100, kMost};
  int good = 1;
  for (int i = 0; i < kMessages; i++, base += 2) {
    MPI_Request request;
    MPI_Status status;
    int bytes = -1;
    wait_for(phase, base + (rank != from));
    memset(out, from + i, kMost);
    count(1);
    if (rank == from && nonblocking) {
      MPI_Isend(out, sizes[i % 6], MPI_CHAR, 1 - rank, i, MPI_COMM_WORLD, &request);
      MPI_Wait(&request, MPI_STATUS_IGNORE);
    } else if (rank == from) {
      MPI_Send(out, sizes[i % 6], MPI_CHAR, 1 - rank, i, MPI_COMM_WORLD);
    } else if (nonblocking) {
      MPI_Irecv(in, kMost, MPI_CHAR, from, i, MPI_COMM_WORLD, &request);
      MPI_Wait(&request, &status);
    } else {
      MPI_Recv(in, kMost, MPI_CHAR, from, i, MPI_COMM_WORLD, &status);
    }
    count(0);
    atomic_fetch_add(phase, 1);
    if (rank == from) continue;
    MPI_Get_count(&status, MPI_CHAR, &bytes);
    good = good && bytes == sizes[i % 6] && (bytes == 0 || in[bytes - 1] == (char)(from + i));
  }
  CHECK(good);
}

int main(int argc, char** argv) {
  int rank, size;
  char name[] = "/dev/shm/short_way.XXXXXX", byte = 0;
  MPI_Init(&argc, &argv);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  CHECK(size == 2);
  int file = rank == 0 ? mkstemp(name) : -1;
  if (rank == 0) CHECK(ftruncate(file, 4096) == 0);
  MPI_Bcast(name, sizeof name, MPI_CHAR, 0, MPI_COMM_WORLD);
  if (rank != 0) file = open(name, O_RDWR);
  atomic_int* phase = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  CHECK(phase != MAP_FAILED);
  for (int i = 0; i < 200; i++) { /* until both have a ring and have allocated their caches */
    if (rank == 0) MPI_Send(&byte, 1, MPI_CHAR, 1, 0, MPI_COMM_WORLD);
    MPI_Recv(&byte, 1, MPI_CHAR, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank == 1) MPI_Send(&byte, 1, MPI_CHAR, 0, 0, MPI_COMM_WORLD);
  }
  if (rank == 0) unlink(name);
  signal(SIGSYS, on_call);
  const int counted = prctl(PR_SET_SYSCALL_USER_DISPATCH, PR_SYS_DISPATCH_ON, 0, 0, &dispatch) == 0;
  if (!counted && rank == 0) printf("this kernel does not let us count system calls\n");
  if (counted) { /* proves that the counter works */
    count(1);
    (void)getppid();
    count(0);
    CHECK(calls == 1);
    calls = 0;
  }
  for (int turn = 0; turn < 8; turn++) { /* the first four may fill caches */
    if (turn == 4) calls = allocations = 0;
    one_way(turn % 2, rank, phase, 2 * kMessages * turn, turn / 2);
  }
  if (calls != 0 || allocations != 0)
    fprintf(stderr, "rank %d: %d system calls, %d allocations\n", rank, (int)calls, (int)allocations);
  CHECK(calls == 0 && allocations == 0);
  return check_finalize();
}
