// SPDX-License-Identifier: BSD-3-Clause
#include "base/replace_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "base/fd.hpp"

namespace herald {

bool replace_file(const std::string& path, const std::string& text, std::string& why) {
  const std::string part = path + ".part";
  const int fd = safe_fd(::open(part.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  bool good = fd >= 0;
  for (std::size_t done = 0; good && done < text.size();) {
    const ssize_t written = ::write(fd, text.data() + done, text.size() - done);
    good = written > 0;
    done += good ? static_cast<std::size_t>(written) : 0;
  }
  good = good && ::fsync(fd) == 0;
  const int error = errno;
  if (fd >= 0 && ::close(fd) != 0) good = false;
  good = good && ::rename(part.c_str(), path.c_str()) == 0;
  if (good) return true;
  why = path + " cannot be written: " + std::strerror(error != 0 ? error : errno);
  ::unlink(part.c_str());
  return false;
}

}  // namespace herald
