// SPDX-License-Identifier: BSD-3-Clause
#include "path/udp/errors.hpp"

#include <linux/errqueue.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

namespace herald::path::udp {
namespace {

int error_in(const msghdr& message) noexcept {
  for (const cmsghdr* each = CMSG_FIRSTHDR(&message); each != nullptr;
       each = CMSG_NXTHDR(const_cast<msghdr*>(&message), const_cast<cmsghdr*>(each))) {
    const bool four = each->cmsg_level == IPPROTO_IP && each->cmsg_type == IP_RECVERR;
    const bool six = each->cmsg_level == IPPROTO_IPV6 && each->cmsg_type == IPV6_RECVERR;
    if (!four && !six) continue;
    sock_extended_err error;
    std::memcpy(&error, CMSG_DATA(each), sizeof error);
    return static_cast<int>(error.ee_errno);
  }
  return 0;
}

}  // namespace

int read_errors(Socket& socket, std::uint8_t socket_index, Links& links) noexcept {
  constexpr int kMost = 1024;  // per call, so that a flood of errors does not block the caller
  int count = 0;
  for (; count < kMost; ++count) {
    sockaddr_in6 about{};
    alignas(cmsghdr) char control[256];
    char nothing;
    iovec room{&nothing, sizeof nothing};
    msghdr message{};
    message.msg_name = &about;
    message.msg_namelen = sizeof about;
    message.msg_iov = &room;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    if (::recvmsg(socket.fd(), &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) break;
    const int error = error_in(message);
    switch (error) {
      case EMSGSIZE: (void)socket.allow_fragments(); break;
      case ECONNREFUSED:
      case EHOSTUNREACH:
      case EHOSTDOWN:
      case ENETUNREACH:
      case ENETDOWN:
      case EACCES:
        if (Link* link = links.find(socket_index, about)) {
          link->refused = 1;
          if (error == ECONNREFUSED) link->no_port = 1;
        }
        break;
      default: break;
    }
  }
  return count;
}

}  // namespace herald::path::udp
