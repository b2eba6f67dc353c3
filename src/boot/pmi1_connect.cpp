// SPDX-License-Identifier: BSD-3-Clause
#include "boot/pmi1_connect.hpp"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "base/fd.hpp"
#include "boot/environment.hpp"

namespace herald::boot {

namespace {

constexpr int kConnectMs = 10'000;

// Zero, or errno.
int connect_within(int fd, const addrinfo& address) noexcept {
  if (::connect(fd, address.ai_addr, address.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS && errno != EINTR) return errno;
  pollfd wait{fd, POLLOUT, 0};
  int ready = ::poll(&wait, 1, kConnectMs);
  if (ready < 0) return errno;
  if (ready == 0) return ETIMEDOUT;
  int error = 0;
  socklen_t length = sizeof error;
  return ::getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &length) == 0 ? error : errno;
}

}  // namespace

int connect_to(const char* host_and_port, std::string& why) {
  const std::string text{host_and_port};
  const std::string name = "PMI_PORT=" + in_quotes(text);
  std::size_t colon = text.rfind(':');
  if (colon == std::string::npos || colon == 0 || !parse_int(text.substr(colon + 1), 1, 65535)) {
    why = name + " is not host:port";
    return -1;
  }
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* list = nullptr;
  int error = ::getaddrinfo(text.substr(0, colon).c_str(), text.c_str() + colon + 1, &hints, &list);
  if (error != 0) {
    why = name + ": the host is not known: " + ::gai_strerror(error);
    return -1;
  }
  int fd = -1;
  for (const addrinfo* it = list; it != nullptr && fd < 0; it = it->ai_next) {
    fd = safe_fd(::socket(it->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    error = fd < 0 ? errno : connect_within(fd, *it);
    if (fd >= 0 && error != 0) {
      ::close(fd);
      fd = -1;
    }
  }
  ::freeaddrinfo(list);
  if (fd < 0) {
    why = name + ": connecting to the launcher: " + std::strerror(error);
    return -1;
  }
  int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return fd;
}

}  // namespace herald::boot
