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

std::unique_ptr<Listener> Listener::open(std::string& why) {
  sockaddr_storage name{};
  auto& six = reinterpret_cast<sockaddr_in6&>(name);
  six.sin6_family = AF_INET6;
  socklen_t length = sizeof six;
  int fd = safe_fd(::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (fd >= 0) set(fd, IPPROTO_IPV6, IPV6_V6ONLY, 0);
  if (fd < 0 || ::bind(fd, reinterpret_cast<const sockaddr*>(&name), length) != 0) {  // no IPv6 here
    if (fd >= 0) ::close(fd);
    name = {};
    name.ss_family = AF_INET;
    length = sizeof(sockaddr_in);
    fd = safe_fd(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (fd >= 0 && ::bind(fd, reinterpret_cast<const sockaddr*>(&name), length) != 0) {
      why = std::string("a socket for the port cannot be bound: ") + std::strerror(errno);
      ::close(fd);
      return nullptr;
    }
  }
  length = sizeof name;
  if (fd < 0 || ::listen(fd, kBacklog) != 0 ||
      ::getsockname(fd, reinterpret_cast<sockaddr*>(&name), &length) != 0) {
    why = std::string("there is no socket for the port: ") + std::strerror(errno);
    if (fd >= 0) ::close(fd);
    return nullptr;
  }
  const std::uint16_t port =
      ntohs(name.ss_family == AF_INET ? reinterpret_cast<const sockaddr_in&>(name).sin_port
                                      : reinterpret_cast<const sockaddr_in6&>(name).sin6_port);
  return std::unique_ptr<Listener>(new Listener(fd, port));
}

Listener::~Listener() { ::close(fd_); }

std::unique_ptr<Stream> Listener::accept() noexcept {
  const int fd = safe_fd(::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  return fd >= 0 ? std::make_unique<Stream>(fd) : nullptr;
}

}  // namespace herald::path
