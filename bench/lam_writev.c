// SPDX-License-Identifier: BSD-3-Clause
// lam_writev.c: linked into programs built with LAM/MPI 7.1.4, which hands the kernel whatever lies on its
// stack as the address of a part that has no bytes. Kernels of today look at such an address, and MPI_Init
// fails now and then with "Bad address". Here that part has none.
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

enum { kMostParts = 64 };

static long pass_on(long number, int fd, const struct iovec* parts, int count) {
  struct iovec clean[kMostParts];
  if (count < 0 || count > kMostParts) return syscall(number, fd, parts, count);
  for (int i = 0; i < count; ++i) {
    clean[i] = parts[i];
    if (clean[i].iov_len == 0) clean[i].iov_base = NULL;
  }
  return syscall(number, fd, clean, count);
}

ssize_t writev(int fd, const struct iovec* parts, int count) { return pass_on(SYS_writev, fd, parts, count); }
ssize_t readv(int fd, const struct iovec* parts, int count) { return pass_on(SYS_readv, fd, parts, count); }
