// SPDX-License-Identifier: BSD-3-Clause
#include "engine/key_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "base/fd.hpp"

namespace herald::engine {
namespace {

constexpr std::size_t kLeastSecret = 16, kMostSecret = 4096;  // bytes

struct Closer {
  int fd;
  ~Closer() { ::close(fd); }
};

}  // namespace

bool read_key_file(const std::string& path, std::string& secret, std::string& why) {
  const auto refuse = [&](const std::string& reason) {
    why = "HERALD_KEY_FILE=" + path + ": " + reason;
    return false;
  };
  // Not blocking: it could be a FIFO.
  const int fd = safe_fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (fd < 0) return refuse(std::strerror(errno));
  const Closer closer{fd};
  struct stat info {};
  if (::fstat(fd, &info) != 0) return refuse(std::strerror(errno));
  if (!S_ISREG(info.st_mode)) return refuse("not a regular file");
  if (info.st_uid != ::geteuid() && info.st_uid != 0) return refuse("it belongs to another user");
  if ((info.st_mode & 077) != 0) return refuse("others can read or write it: chmod 600");
  std::array<char, kMostSecret + 1> bytes;
  const ssize_t got = ::read(fd, bytes.data(), bytes.size());
  if (got < 0) return refuse(std::strerror(errno));
  if (static_cast<std::size_t>(got) < kLeastSecret || static_cast<std::size_t>(got) > kMostSecret)
    return refuse("it must hold 16 to 4096 bytes, such as head -c 32 /dev/urandom gives");
  secret.assign(bytes.data(), static_cast<std::size_t>(got));
  return true;
}

}  // namespace herald::engine
