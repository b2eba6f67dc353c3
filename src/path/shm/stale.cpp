// SPDX-License-Identifier: BSD-3-Clause
// path/shm/stale.cpp: tidies up after jobs that were killed between making a segment and attaching it.
#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>

#include "path/shm/segment.hpp"

namespace herald::path {
namespace {

// Ours, a plain file, and nobody holds the lock that an owner holds for life. It is removed while we hold
// that lock: who makes a file and locks it only then finds that it has no name any more.
bool remove_if_stale(int directory, const char* file, uid_t uid) noexcept {
  const int fd = ::openat(directory, file, O_RDWR | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  if (fd < 0) return false;
  struct stat info {};
  const bool ours = ::fstat(fd, &info) == 0 && S_ISREG(info.st_mode) && info.st_uid == uid;
  const bool removed = ours && ::flock(fd, LOCK_EX | LOCK_NB) == 0 && ::fstat(fd, &info) == 0 &&
                       info.st_nlink != 0 && ::unlinkat(directory, file, 0) == 0;
  ::close(fd);
  return removed;
}

}  // namespace

int remove_stale_segments(const std::string& directory, uid_t uid) {
  DIR* listing = ::opendir(directory.c_str());
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
