// SPDX-License-Identifier: BSD-3-Clause
// path/shm/stale.cpp: removes segments of jobs that were killed before all ranks had attached.
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "base/fd.hpp"
#include "path/shm/segment.hpp"

namespace herald::path {
namespace {

// A regular file of this user whose lock, which a live owner holds, is free. It is removed while we hold the
// lock: an owner that creates and then locks a file finds that it has no name any more.
bool remove_if_stale(int directory, const char* file, uid_t uid) noexcept {
  const int fd = safe_fd(::openat(directory, file, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (fd < 0) return false;
  struct stat info {};
  const bool ours = ::fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == uid;
  const bool stale =
      ours && ::flock(fd, LOCK_EX | LOCK_NB) == 0 && ::fstat(fd, &info) == 0 && info.st_nlink != 0;
  if (stale) ::unlinkat(directory, (std::string(file) + "-bell").c_str(), 0);
  const bool removed = stale && ::unlinkat(directory, file, 0) == 0;
  ::close(fd);
  return removed;
}

}  // namespace

int remove_stale_segments(const std::string& directory, uid_t uid) {
  const int fd = safe_fd(::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  DIR* listing = fd < 0 ? nullptr : ::fdopendir(fd);
  if (listing == nullptr) return 0;
  const std::string prefix = "herald-" + std::to_string(uid) + "-";
  int removed = 0;
  while (const dirent* entry = ::readdir(listing)) {
    if (std::strncmp(entry->d_name, prefix.c_str(), prefix.size()) != 0) continue;
    if (remove_if_stale(::dirfd(listing), entry->d_name, uid)) ++removed;
  }
  ::closedir(listing);
  return removed;
}

}  // namespace herald::path
