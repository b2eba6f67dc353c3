// SPDX-License-Identifier: BSD-3-Clause
#include "path/shm/file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>

#include "base/fd.hpp"

namespace herald::path {
namespace {

int make_unnamed(const std::string& path) noexcept {
  const std::string folder = path.substr(0, path.find_last_of('/') + 1);
  const int fd = safe_fd(::open(folder.empty() ? "." : folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600));
  if (fd < 0 || ::flock(fd, LOCK_EX | LOCK_NB) == 0) return fd;
  ::close(fd);
  return -1;
}

// The stale-file removal of another job may see the file before it is locked; it holds the lock until the
// file is removed.
int make_named(const std::string& path) noexcept {
  constexpr int kAttempts = 8;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    const int fd = safe_fd(::open(path.c_str(), O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0600));
    if (fd < 0) return -1;
    int locked = -1;
    do {
      locked = ::flock(fd, LOCK_EX);
    } while (locked != 0 && errno == EINTR);
    struct stat info {};
    if (locked == 0 && ::fstat(fd, &info) == 0 && info.st_nlink == 1) return fd;
    const int error = locked == 0 ? EAGAIN : errno;
    if (locked != 0) ::unlink(path.c_str());
    ::close(fd);
    errno = error;
    if (locked != 0) return -1;
  }
  return -1;
}

}  // namespace

NewFile make_file(const std::string& path, bool unnamed) noexcept {
  if (unnamed) {
    const int fd = make_unnamed(path);
    if (fd >= 0) return {fd, false};
  }
  const int fd = make_named(path);
  return {fd, fd >= 0};
}

bool name_file(int fd, const std::string& path) noexcept {
  const std::string through = "/proc/self/fd/" + std::to_string(fd);
  return ::linkat(AT_FDCWD, through.c_str(), AT_FDCWD, path.c_str(), AT_SYMLINK_FOLLOW) == 0;
}

int open_fifo(const std::string& path, bool by_link) noexcept {
  const int links = by_link ? 0 : O_NOFOLLOW;
  const int fd = safe_fd(::open(path.c_str(), O_RDWR | O_NONBLOCK | O_CLOEXEC | links));
  struct stat info {};
  if (fd < 0 || (::fstat(fd, &info) == 0 && S_ISFIFO(info.st_mode) && (info.st_mode & 077) == 0)) return fd;
  ::close(fd);
  errno = EINVAL;
  return -1;
}

int make_fifo(const std::string& path) noexcept {
  if (::mkfifo(path.c_str(), 0600) != 0) return -1;
  const int fd = open_fifo(path);
  const int error = errno;
  if (fd < 0) ::unlink(path.c_str());
  errno = error;
  return fd;
}

int reserve_file(int fd, std::size_t bytes, std::uint64_t& there) noexcept {
  struct statvfs space {};
  const bool known = ::fstatvfs(fd, &space) == 0;
  there = known ? std::uint64_t{space.f_bavail} * space.f_frsize : 0;
  if (known && there < bytes) return ENOSPC;
  int error = EINTR;
  while (error == EINTR) error = ::posix_fallocate(fd, 0, static_cast<off_t>(bytes));
  return error;
}

void populate(std::byte* begin, std::size_t bytes) noexcept {
#ifdef MADV_POPULATE_WRITE
  const auto page = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto offset = reinterpret_cast<std::uintptr_t>(begin) % page;
  (void)::madvise(begin - offset, bytes + offset, MADV_POPULATE_WRITE);
#else
  (void)begin, (void)bytes;
#endif
}

}  // namespace herald::path
