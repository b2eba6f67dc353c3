// SPDX-License-Identifier: BSD-3-Clause
// lam_writev.c: linked into programs built with LAM/MPI 7.1.4, which passes an uninitialised address
// for an iovec of length 0. Current kernels check such addresses, and MPI_Init sometimes fails with "Bad
// address". This wrapper clears the address.
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
