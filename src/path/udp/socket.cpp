// SPDX-License-Identifier: BSD-3-Clause
#include "path/udp/socket.hpp"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "base/fd.hpp"
#include "path/gso.hpp"

#ifndef IPV6_UNICAST_IF
#define IPV6_UNICAST_IF 76
#endif

namespace herald::path::udp {
namespace {

constexpr std::uint32_t kAnyPortTries = 16;  // a port that the kernel chose may be refused

bool set(int fd, int level, int option, int value) noexcept {
  return ::setsockopt(fd, level, option, &value, sizeof value) == 0;
}

}  // namespace

Socket::Socket(Socket&& other) noexcept
    : fd_(std::exchange(other.fd_, -1)),
      family_(other.family_),
      port_(other.port_),
      receive_buffer_(other.receive_buffer_),
      segments_(other.segments_),
      can_gro_(other.can_gro_),
      has_gro_(other.has_gro_),
      fragments_(other.fragments_),
      connected_(other.connected_) {}

bool Socket::open(const SocketConfig& config, std::string& why) {
  family_ = config.address.family;
  if (!bind_any(config)) {
    why = "no socket for " + to_text(config.address) + ": " + std::strerror(errno);
    out_of_ports_ = errno == EADDRINUSE && !config.ports.any();
    if (out_of_ports_)
      why = "HERALD_PORTS=" + config.ports.text() + ": all these ports of " + to_text(config.address) +
            " are in use; give a wider range: each rank of a host needs one, and multicast needs one";
    close();
    return false;
  }
  set_buffers(config.buffer_bytes);
  set_options(config);
  return true;
}

void Socket::close() noexcept {
  if (fd_ >= 0) ::close(fd_);
  fd_ = -1;
}

// False with errno.
bool Socket::bind_port(const SocketConfig& config, std::uint16_t port) {
  close();
  fd_ = safe_fd(::socket(family_ == 4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (fd_ < 0) return false;
  if (family_ == 6) set(fd_, IPPROTO_IPV6, IPV6_V6ONLY, 1);
  sockaddr_storage name;
  socklen_t length = to_sockaddr(config.address, port, config.interface, name);
  if (::bind(fd_, reinterpret_cast<const sockaddr*>(&name), length) != 0 ||
      ::getsockname(fd_, reinterpret_cast<sockaddr*>(&name), &length) != 0)
    return false;
  port_ = ntohs(family_ == 4 ? reinterpret_cast<const sockaddr_in&>(name).sin_port
                             : reinterpret_cast<const sockaddr_in6&>(name).sin6_port);
  if (!config.take_port || config.take_port(reinterpret_cast<const sockaddr&>(name), length)) return true;
  errno = EADDRINUSE;
  return false;
}

bool Socket::bind_any(const SocketConfig& config) {
  const std::uint32_t tries = config.ports.any() ? kAnyPortTries : config.ports.count();
  errno = EADDRINUSE;
  for (std::uint32_t i = 0; i < tries && errno == EADDRINUSE; ++i) {
    const std::uint16_t port = config.ports.any() ? 0 : config.ports.at(config.first_try, i);
    if (port == 0 && !config.ports.any()) continue;
    if (bind_port(config, port)) return true;
  }
  return false;
}

void Socket::set_buffers(std::uint32_t bytes) noexcept {
  const int wanted = static_cast<int>(bytes);
  if (!set(fd_, SOL_SOCKET, SO_RCVBUFFORCE, wanted)) set(fd_, SOL_SOCKET, SO_RCVBUF, wanted);
  if (!set(fd_, SOL_SOCKET, SO_SNDBUFFORCE, wanted)) set(fd_, SOL_SOCKET, SO_SNDBUF, wanted);
  int given = 0;
  socklen_t length = sizeof given;
  if (::getsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &given, &length) == 0)
    receive_buffer_ = static_cast<std::uint32_t>(given);
}

void Socket::set_options(const SocketConfig& config) noexcept {
  // The kernel reports ICMP errors about earlier datagrams, and drops in our receive queue.
  if (family_ == 4) {
    set(fd_, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO);
    set(fd_, IPPROTO_IP, IP_RECVERR, 1);
  } else {
    set(fd_, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO);
    set(fd_, IPPROTO_IPV6, IPV6_RECVERR, 1);
  }
  if (config.leave_by_interface) {
    const int index = static_cast<int>(htonl(config.interface));  // both options expect network order
    if (family_ == 4)
      set(fd_, IPPROTO_IP, IP_UNICAST_IF, index);
    else
      set(fd_, IPPROTO_IPV6, IPV6_UNICAST_IF, index);
  }
  if (config.segment) {
    // Each call carries its segment size; this only probes whether the kernel knows the option.
    segments_ = set(fd_, IPPROTO_UDP, UDP_SEGMENT, 0);
    can_gro_ = set(fd_, IPPROTO_UDP, UDP_GRO, 0);
  }
}

bool Socket::connect(const sockaddr& to) noexcept {
  const socklen_t length = to.sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  connected_ = ::connect(fd_, &to, length) == 0;
  return connected_;
}

// The kernel releases a port that it chose itself.
bool Socket::disconnect(const Address& address, std::uint32_t interface, std::string& why) noexcept {
  sockaddr none{};
  none.sa_family = AF_UNSPEC;
  sockaddr_storage name{}, now{};
  const socklen_t length = to_sockaddr(address, port_, interface, name);
  socklen_t now_length = sizeof now;
  connected_ = ::connect(fd_, &none, sizeof none) != 0;
  bool bound = !connected_ && ::getsockname(fd_, reinterpret_cast<sockaddr*>(&now), &now_length) == 0;
  const bool kept = bound && (family_ == 4 ? reinterpret_cast<const sockaddr_in&>(now).sin_port
                                           : reinterpret_cast<const sockaddr_in6&>(now).sin6_port) != 0;
  if (bound && !kept) bound = ::bind(fd_, reinterpret_cast<const sockaddr*>(&name), length) == 0;
  if (!bound)
    why = "the socket at " + to_text(address) + " cannot serve another peer: " + std::strerror(errno);
  return bound;
}

void Socket::stop_gro() noexcept {
  has_gro_ = !set(fd_, IPPROTO_UDP, UDP_GRO, 0);
  can_gro_ = !has_gro_;
}

void Socket::start_gro() noexcept {
  can_gro_ = false;
  has_gro_ = set(fd_, IPPROTO_UDP, UDP_GRO, 1);
}

bool Socket::allow_fragments() noexcept {
  if (std::exchange(fragments_, true)) return false;
  if (family_ == 4) return set(fd_, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DONT);
  return set(fd_, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DONT);
}

std::uint32_t route_mtu(const sockaddr_storage& to, socklen_t length) noexcept {
  const bool four = to.ss_family == AF_INET;
  int mtu = 0;
  socklen_t size = sizeof mtu;
  const int fd = safe_fd(::socket(to.ss_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (fd < 0) return 1 << 16;
  const bool known =
      ::connect(fd, reinterpret_cast<const sockaddr*>(&to), length) == 0 &&
      ::getsockopt(fd, four ? IPPROTO_IP : IPPROTO_IPV6, four ? IP_MTU : IPV6_MTU, &mtu, &size) == 0;
  ::close(fd);
  return known && mtu > 0 ? static_cast<std::uint32_t>(mtu) : 1 << 16;
}

}  // namespace herald::path::udp
