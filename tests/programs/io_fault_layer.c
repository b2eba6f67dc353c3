/* SPDX-License-Identifier: BSD-3-Clause */
/* Loaded before the library (LD_PRELOAD): makes transfers of files whose name has "herald-io" short,
   interrupts them, or lets some fail. IO_FAULTS=short: only short and interrupted transfers; IO_FAULTS=N:
   transfers also fail with errno N, one in 16. IO_SEED: which ones, together with the number of the process
   in its job. */
#include <dlfcn.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

static unsigned draw(unsigned bound) {
  static unsigned long long state;
  if (state == 0) {
    const char *seed = getenv("IO_SEED"), *rank = getenv("PMI_RANK");
    state = (seed != NULL ? strtoull(seed, NULL, 0) : 1) * 1000003 +
            (rank != NULL ? strtoull(rank, NULL, 0) : 0) + 1;
  }
  state = state * 6364136223846793005ULL + 1442695040888963407ULL;
  return (unsigned)(state >> 33) % bound;
}

static int is_ours(int fd) {
  char link[64], path[512];
  ssize_t length;
  snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
  length = readlink(link, path, sizeof path - 1);
  if (length < 0) return 0;
  path[length] = '\0';
  return strstr(path, "herald-io") != NULL;
}

/* 0: go on, with at most *most bytes; else errno. */
static int fault(int fd, size_t* most) {
  const char* what = getenv("IO_FAULTS");
  const int number = what != NULL ? atoi(what) : 0;
  if (what == NULL || !is_ours(fd)) return 0;
  if (draw(16) == 0) return EINTR;
  if (number != 0 && draw(16) == 0) return number;
  if (draw(3) == 0) *most = 1 + draw((unsigned)(*most < 4096 ? *most : 4096));
  return 0;
}

#define PLAIN(name, type)                                       \
  ssize_t name(int fd, type data, size_t bytes, off_t offset) { \
    static ssize_t (*next)(int, type, size_t, off_t);           \
    const int error = bytes != 0 ? fault(fd, &bytes) : 0;       \
    if (next == NULL) *(void**)&next = dlsym(RTLD_NEXT, #name); \
    if (error == 0) return next(fd, data, bytes, offset);       \
    errno = error;                                              \
    return -1;                                                  \
  }
#define VECTOR(name)                                                               \
  ssize_t name(int fd, const struct iovec* runs, int count, off_t offset) {        \
    static ssize_t (*next)(int, const struct iovec*, int, off_t);                  \
    size_t most = (size_t)-1;                                                      \
    const int error = fault(fd, &most);                                            \
    if (next == NULL) *(void**)&next = dlsym(RTLD_NEXT, #name);                    \
    if (error == 0) return next(fd, runs, most == (size_t)-1 ? count : 1, offset); \
    errno = error;                                                                 \
    return -1;                                                                     \
  }
PLAIN(pread, void*)
PLAIN(pread64, void*)
PLAIN(pwrite, const void*)
PLAIN(pwrite64, const void*)
VECTOR(preadv)
VECTOR(preadv64)
VECTOR(pwritev)
VECTOR(pwritev64)
