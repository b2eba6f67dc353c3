// SPDX-License-Identifier: BSD-3-Clause
// path/udp/receiver.hpp: datagrams from recvmmsg; what UDP_GRO joined is cut again.
// In: sockets that are in use. Out: datagrams with peer and link, in memory of this object until the next
// call. No allocation after the first call, no system call but one for each socket in use: recvfrom where one
// datagram at a time comes (it is the fastest), recvmmsg where more do; a socket joins datagrams when many
// came, until for long none was joined: a plain call is quicker.
#pragma once
#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "path/udp/links.hpp"
#include "path/udp/socket.hpp"
#include "path/udp/udp.hpp"

namespace herald::path::udp {

class Receiver {
 public:
  Receiver(std::vector<Socket>& sockets, Links& links) noexcept : sockets_(sockets), links_(links) {}
  // `datagram_bytes`: the largest that may come. Before the first receive().
  void open(std::uint32_t datagram_bytes);
  // A socket by which a peer reaches us.
  void use(std::uint8_t socket);
  // Nothing comes by this socket but from that link.
  void tie(std::uint8_t socket, const Link& link) { tied_[socket] = &link; }
  std::span<const std::uint8_t> used() const noexcept { return used_; }
  // As UdpPath::receive() and may_have_more().
  std::span<const UdpArrival> receive() noexcept;
  bool may_have_more() const noexcept { return more_; }

 private:
  static constexpr std::size_t kPlainSlots = 64;
  static constexpr std::size_t kJoinedSlots = 8;     // each holds up to 64 KiB of datagrams
  static constexpr std::size_t kMostSegments = 128;  // joined in one, as the newest kernels may

  struct Slot {
    sockaddr_in6 from;
    iovec room;
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  };

  static constexpr std::size_t kMany = 4;          // in one call: joining them pays
  static constexpr std::size_t kLarge = 16;        // joined in one: worth a call of its own
  static constexpr std::uint16_t kSingles = 4096;  // calls in a row that brought one: it does not

  std::size_t read(std::uint8_t socket, std::size_t first_slot) noexcept;
  int read_one(std::uint8_t socket, std::size_t slot) noexcept;
  void take(std::uint8_t socket, std::size_t slot) noexcept;
  void judge_joining(std::uint8_t socket, std::size_t datagrams) noexcept;
  void make_ready(std::size_t slot) noexcept;

  std::vector<Socket>& sockets_;
  Links& links_;
  std::vector<std::uint8_t> used_;
  std::vector<const Link*> tied_;  // by socket
  // By socket. It was near empty, so that asking for more is in vain; then one came; there may be more.
  enum Next : std::uint8_t { kMore, kOne, kOneCame };
  std::vector<Next> one_by_one_;
  std::vector<std::uint16_t> singles_;  // by socket: calls in a row that brought one datagram
  std::vector<std::uint8_t> large_;  // by socket: many came joined in one, and one such is enough at a time
  std::size_t next_ = 0;             // socket to begin with: none starves
  bool joins_ = false;
  bool more_ = false;
  std::size_t dirty_ = 0;  // slots that the last call filled
  std::vector<mmsghdr> headers_;
  std::vector<Slot> slots_;
  std::unique_ptr<std::byte[]> memory_;
  std::vector<UdpArrival> arrivals_;
  std::size_t count_ = 0;
};

}  // namespace herald::path::udp
