// SPDX-License-Identifier: BSD-3-Clause
#include "base/fd.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

namespace herald {

int safe_fd(int fd) noexcept {
  constexpr int kFirstOurs = 3;
  if (fd < 0 || fd >= kFirstOurs) return fd;
  const int moved = ::fcntl(fd, F_DUPFD_CLOEXEC, kFirstOurs);
  const int error = errno;
  ::close(fd);
  errno = error;
  return moved;
}

std::FILE* open_file(const char* path, int flags) noexcept {
  const int fd = safe_fd(::open(path, flags | O_CLOEXEC, 0666));
  if (fd < 0) return nullptr;
  std::FILE* const file = ::fdopen(fd, (flags & O_ACCMODE) == O_RDONLY ? "r" : "w");
  if (file == nullptr) ::close(fd);
  return file;
}

}  // namespace herald
