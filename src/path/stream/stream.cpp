// SPDX-License-Identifier: BSD-3-Clause
#include "path/stream/stream.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>

#include "base/fd.hpp"

namespace herald::path {
namespace {

constexpr int kBacklog = 64;
constexpr int kKeepAliveSeconds = 20;  // a host that vanished is noticed after about three times as long

bool set(int fd, int level, int name, int value) noexcept {
  return ::setsockopt(fd, level, name, &value, sizeof value) == 0;
}

void notice_dead_peer(int fd) noexcept {
  set(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set(fd, IPPROTO_TCP, TCP_KEEPIDLE, kKeepAliveSeconds);
  set(fd, IPPROTO_TCP, TCP_KEEPINTVL, kKeepAliveSeconds);
  set(fd, IPPROTO_TCP, TCP_KEEPCNT, 3);
  set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
}

socklen_t read_address(const std::string& text, std::uint16_t port, sockaddr_storage& name) noexcept {
  name = {};
  auto& four = reinterpret_cast<sockaddr_in&>(name);
  auto& six = reinterpret_cast<sockaddr_in6&>(name);
  if (::inet_pton(AF_INET, text.c_str(), &four.sin_addr) == 1) {
    four.sin_family = AF_INET;
    four.sin_port = htons(port);
    return sizeof four;
  }
  if (::inet_pton(AF_INET6, text.c_str(), &six.sin6_addr) != 1) return 0;
  six.sin6_family = AF_INET6;
  six.sin6_port = htons(port);
  return sizeof six;
}

// The port lies in the same place in both kinds of address.
std::uint16_t port_of(const sockaddr_storage& name) noexcept {
  return ntohs(reinterpret_cast<const sockaddr_in&>(name).sin_port);
}

bool bind_one_of(int fd, int family, const Ports& ports) noexcept {
  const std::uint32_t tries = ports.any() ? 1 : ports.count();
  const std::uint32_t begin = static_cast<std::uint32_t>(::getpid());
  errno = EADDRINUSE;
  for (std::uint32_t i = 0; i < tries && errno == EADDRINUSE; ++i) {
    sockaddr_storage name{};
    name.ss_family = static_cast<sa_family_t>(family);
    const std::uint16_t port = ports.any() ? 0 : ports.at(begin, i);
    if (port == 0 && !ports.any()) continue;  // reserved
    reinterpret_cast<sockaddr_in&>(name).sin_port = htons(port);
    const socklen_t length = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    if (::bind(fd, reinterpret_cast<const sockaddr*>(&name), length) == 0) return true;
  }
  return false;
}

}  // namespace

Stream::Stream(int fd, bool borrows) noexcept : fd_(fd), borrows_(borrows), flags_(::fcntl(fd, F_GETFL)) {
  if (flags_ < 0)
    error_ = errno;
  else
    (void)::fcntl(fd, F_SETFL, flags_ | O_NONBLOCK);
  if (!borrows) notice_dead_peer(fd);
}

Stream::~Stream() {
  if (!borrows_)
    ::close(fd_);
  else if (flags_ >= 0)
    (void)::fcntl(fd_, F_SETFL, flags_);
}

std::unique_ptr<Stream> Stream::connect(const std::string& address, std::uint16_t port, std::string& why) {
  sockaddr_storage name;
  const socklen_t length = read_address(address, port, name);
  if (length == 0) {
    why = "\"" + address + "\" is no address";
    return nullptr;
  }
  const int fd = safe_fd(::socket(name.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (fd < 0) {
    why = std::strerror(errno);
    return nullptr;
  }
  auto stream = std::make_unique<Stream>(fd);
  stream->connecting_ = true;
  if (::connect(fd, reinterpret_cast<const sockaddr*>(&name), length) != 0 && errno != EINPROGRESS)
    stream->fail(errno);
  return stream;
}

void Stream::fail(int error) noexcept {
  error_ = error;
  connecting_ = false;
}

const char* Stream::error() const noexcept {
  return error_ != 0 ? std::strerror(error_) : "the other process closed the connection";
}

void Stream::turn(std::size_t most) noexcept {
  if (has_failed()) return;
  if (connecting_) {
    pollfd one{fd_, POLLOUT, 0};
    if (::poll(&one, 1, 0) <= 0) return;
    int error = 0;
    socklen_t length = sizeof error;
    if (::getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &length) != 0) error = errno;
    connecting_ = false;
    if (error != 0) return fail(error);
  }
  while (!out_.empty()) {
    ssize_t n = ::send(fd_, out_.data(), out_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && errno == ENOTSOCK) n = ::write(fd_, out_.data(), out_.size());
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno != EAGAIN) return fail(errno);
    if (n <= 0) break;
    out_.erase(0, static_cast<std::size_t>(n));
  }
  std::array<char, 16384> room;
  while (most != 0) {
    const ssize_t n = ::read(fd_, room.data(), std::min(most, room.size()));
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno != EAGAIN) return fail(errno);
    if (n < 0) return;
    if (n == 0) {
      ended_ = true;
      return;
    }
    in_.append(room.data(), static_cast<std::size_t>(n));
    most -= static_cast<std::size_t>(n);
  }
}

std::unique_ptr<Listener> Listener::open(const Ports& ports, std::string& why) {
  sockaddr_storage name{};
  int fd = -1;
  for (const int family : {AF_INET6, AF_INET}) {  // a host may have no IPv6
    fd = safe_fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (fd < 0) continue;
    if (family == AF_INET6) set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0);
    if (bind_one_of(fd, family, ports) && ::listen(fd, kBacklog) == 0) break;
    why = std::strerror(errno);
    ::close(fd);
    fd = -1;
  }
  socklen_t length = sizeof name;
  if (fd < 0 || ::getsockname(fd, reinterpret_cast<sockaddr*>(&name), &length) != 0) {
    why = std::string("there is no socket to listen at") +
          (ports.any() ? std::string() : " in HERALD_PORTS=" + ports.text()) + ": " + why;
    if (fd >= 0) ::close(fd);
    return nullptr;
  }
  return std::unique_ptr<Listener>(new Listener(fd, port_of(name)));
}

Listener::~Listener() { ::close(fd_); }

std::unique_ptr<Stream> Listener::accept() noexcept {
  const int fd = safe_fd(::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  return fd >= 0 ? std::make_unique<Stream>(fd) : nullptr;
}

}  // namespace herald::path
