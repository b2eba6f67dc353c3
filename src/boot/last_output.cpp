// SPDX-License-Identifier: BSD-3-Clause
#include "boot/last_output.hpp"

#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>

namespace herald::boot {

void wait_until_read(int fd, int limit_ms) noexcept {
  struct stat info {};
  if (::fstat(fd, &info) != 0 || !S_ISFIFO(info.st_mode)) return;
  for (int ms = 0; ms < limit_ms; ++ms) {
    int unread = 0;
    if (::ioctl(fd, FIONREAD, &unread) != 0 || unread == 0) return;
    const timespec pause{.tv_sec = 0, .tv_nsec = 1'000'000};
    ::nanosleep(&pause, nullptr);
  }
}

}  // namespace herald::boot
