// SPDX-License-Identifier: BSD-3-Clause
#include "path/udp/sender.hpp"

#include <netinet/in.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "path/udp/errors.hpp"

namespace herald::path::udp {

std::size_t Sender::send(std::span<const UdpSend> batch, std::ptrdiff_t& failed) noexcept {
  failed = -1;
  blocked_ = false;
  if (batch.size() == 1 && batch[0].rest.empty() && send_plain(batch[0])) return 1;
  std::size_t sent = 0;
  int errors = 0;
  while (sent < batch.size()) {
    if (fill(batch.subspan(sent)) == 0) {
      failed = static_cast<std::ptrdiff_t>(sent);
      return sent;
    }
    const int fd = sockets_[socket_].fd();
    const int left =
        count_ == 1 ? (::syscall(SYS_sendmsg, fd, &headers_[0].msg_hdr, MSG_DONTWAIT) >= 0 ? 1 : -1)
                    : static_cast<int>(::syscall(SYS_sendmmsg, fd, headers_.data(), count_, MSG_DONTWAIT));
    if (left > 0) {
      for (std::size_t i = 0; i < static_cast<std::size_t>(left); ++i) sent += messages_[i].datagrams;
      continue;
    }
    const Next next = ++errors > kMostErrors ? Next::failed : after_error(errno);
    if (next == Next::again) continue;
    if (next == Next::full)
      blocked_ = true;
    else
      failed = static_cast<std::ptrdiff_t>(sent);
    return sent;
  }
  return sent;
}

std::uint32_t Sender::gso_packets(std::uint32_t datagram_bytes) const noexcept {
  for (const Socket& socket : sockets_)
    if (!socket.has_gso()) return 1;
  return static_cast<std::uint32_t>(std::clamp<std::size_t>(kSegmentedBytes / datagram_bytes, 1, kSegments));
}

// The plainest system call, not a function of the C library, which would be a cancellation point. False: not
// sent; the general way tries again and examines the error.
[[gnu::always_inline]] inline bool Sender::send_plain(const UdpSend& one) noexcept {
  const Link* link = links_.find(one.to, one.link);
  if (link == nullptr || link->refused != 0) return false;
  const Socket& socket = sockets_[link->socket];
  const bool connected = socket.is_connected();
  const socklen_t length = link->to.base.sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  return ::syscall(SYS_sendto, socket.fd(), one.bytes.data(), one.bytes.size(), MSG_DONTWAIT,
                   connected ? nullptr : &link->to, connected ? 0 : length) >= 0;
}

// How many of the first datagrams may be sent as one message.
std::size_t Sender::run_length(std::span<const UdpSend> batch, const Link& link) const noexcept {
  if (!sockets_[link.socket].has_gso() || batch[0].size() > link.payload) return 1;
  return gso_length(
      batch, [](const UdpSend& one) { return one.size(); },
      [&](const UdpSend& one) { return one.to == batch[0].to && one.link == batch[0].link; });
}

// Makes messages of the first datagrams that use one socket. 0: the first datagram cannot be sent.
std::size_t Sender::fill(std::span<const UdpSend> batch) noexcept {
  count_ = 0;
  std::size_t parts = 0;
  for (std::size_t at = 0; at < batch.size() && count_ < kMessages;) {
    Link* link = links_.find(batch[at].to, batch[at].link);
    if (link == nullptr || link->refused != 0) {
      if (at == 0 && link != nullptr) link->refused = 0;  // reported once
      break;
    }
    if (at == 0) socket_ = link->socket;
    const std::size_t run = run_length(batch.subspan(at), *link);
    if (link->socket != socket_ || parts + 2 * run > kParts) break;
    msghdr& header = headers_[count_].msg_hdr;
    Message& message = messages_[count_++];
    message.datagrams = static_cast<std::uint16_t>(run);
    header = {};
    if (!sockets_[socket_].is_connected()) {
      header.msg_name = &link->to;
      header.msg_namelen = link->to.base.sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    }
    header.msg_iov = &parts_[parts];
    if (run != 1) message.control.set(header, batch[at].size());
    for (std::size_t i = 0; i < run; ++i, ++at) {
      const UdpSend& one = batch[at];
      parts_[parts++] = {const_cast<std::byte*>(one.bytes.data()), one.bytes.size()};
      if (!one.rest.empty()) parts_[parts++] = {const_cast<std::byte*>(one.rest.data()), one.rest.size()};
    }
    header.msg_iovlen = static_cast<std::size_t>(&parts_[0] + parts - header.msg_iov);
  }
  return count_;
}

Sender::Next Sender::after_error(int error) noexcept {
  Socket& socket = sockets_[socket_];
  if (messages_[0].datagrams > 1 && is_gso_error(error)) {
    socket.stop_gso();
    return Next::again;
  }
  switch (error) {
    case EINTR: return Next::again;
    case EAGAIN:
    case ENOBUFS:
    case ENOMEM: return Next::full;
    case EIO:
    case EINVAL: return Next::failed;
    default: break;
  }
  // The error may be about an earlier datagram: then this one is tried again.
  if (read_errors(socket, socket_, links_) > 0) return Next::again;
  if (error == EMSGSIZE && socket.allow_fragments()) return Next::again;
  return Next::failed;
}

}  // namespace herald::path::udp
