// SPDX-License-Identifier: BSD-3-Clause
// floor.c: the memory of this machine without any library, between two processes on two cores:
//   line 64 SECONDS         one way of a cache line that both write in turn (best of many short runs)
//   copy BYTES SECONDS      memcpy of memory that the other core has just written
#define _GNU_SOURCE
#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { kTrips = 1000, kRuns = 200, kCopies = 50 };
static const size_t kMost = 16 << 20;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void pin(int which) {
  cpu_set_t all, one;
  if (sched_getaffinity(0, sizeof all, &all) != 0) return;
  int skip = which % CPU_COUNT(&all), cpu = 0;
  for (; cpu < CPU_SETSIZE; ++cpu)
    if (CPU_ISSET(cpu, &all) && skip-- == 0) break;
  CPU_ZERO(&one);
  CPU_SET(cpu, &one);
  sched_setaffinity(0, sizeof one, &one);
}

static void wait_for(atomic_ulong* word, unsigned long value) {
  while (atomic_load_explicit(word, memory_order_acquire) != value) {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
}

static int ascending(const void* a, const void* b) {
  const double x = *(const double*)a, y = *(const double*)b;
  return (x > y) - (x < y);
}

// The other process answers every line, then writes to its memory on request.
static void other(atomic_ulong* ping, atomic_ulong* pong, char* shared) {
  pin(1);
  for (unsigned long i = 1; i <= (unsigned long)kTrips * kRuns; ++i) {
    wait_for(ping, i);
    atomic_store_explicit(pong, i, memory_order_release);
  }
  for (unsigned long i = (unsigned long)kTrips * kRuns + 1;; ++i) {
    wait_for(ping, i);
    const size_t bytes = *(size_t*)(shared + kMost);
    if (bytes == 0) _exit(0);
    memset(shared, (int)i, bytes);
    atomic_store_explicit(pong, i, memory_order_release);
  }
}

int main(void) {
  char* shared =
      mmap(NULL, kMost + 4096 * 4, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
  if (shared == MAP_FAILED) return 1;
  atomic_ulong* ping = (atomic_ulong*)(shared + kMost + 4096);
  atomic_ulong* pong = (atomic_ulong*)(shared + kMost + 8192);
  if (fork() == 0) other(ping, pong, shared);
  pin(0);
  double runs[kRuns], copies[kCopies];
  unsigned long turn = 0;
  for (int run = 0; run < kRuns; ++run) {
    const double start = now();
    for (int i = 0; i < kTrips; ++i) {
      atomic_store_explicit(ping, ++turn, memory_order_release);
      wait_for(pong, turn);
    }
    runs[run] = (now() - start) / kTrips / 2;
  }
  qsort(runs, kRuns, sizeof *runs, ascending);
  printf("line 64 %.10g\n", runs[kRuns / 2]);
  char* here = malloc(kMost);
  memset(here, 1, kMost);
  for (size_t bytes = 4096; bytes <= kMost; bytes *= 4) {
    for (int i = 0; i < kCopies; ++i) {
      *(size_t*)(shared + kMost) = bytes;
      atomic_store_explicit(ping, ++turn, memory_order_release);
      wait_for(pong, turn);
      const double start = now();
      memcpy(here, shared, bytes);
      copies[i] = now() - start;
    }
    qsort(copies, kCopies, sizeof *copies, ascending);
    printf("copy %zu %.10g\n", bytes, copies[kCopies / 2]);
  }
  *(size_t*)(shared + kMost) = 0;
  atomic_store_explicit(ping, ++turn, memory_order_release);
  wait(NULL);
  return here[kMost - 1] == 77 ? 3 : 0;
}
