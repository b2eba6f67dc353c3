// SPDX-License-Identifier: BSD-3-Clause
// path/udp/receiver.hpp: datagrams from recvmmsg; splits what UDP_GRO coalesced.
// In: the sockets in use. Out: datagrams with peer and link, in memory of this object until the next call.
// No allocation after the first call, and one system call per socket in use: recvfrom where datagrams arrive
// singly (the fastest call), recvmmsg where more arrive. A socket turns UDP_GRO on when many datagrams arrive
// and off when none has been coalesced for long, since a plain call is faster.
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
  // `datagram_bytes`: the largest datagram that peers send. Before the first receive().
  void open(std::uint32_t datagram_bytes);
  // A socket by which a peer reaches us.
  void use(std::uint8_t socket);
  // The socket is connected: it receives from that link only.
  void connect(std::uint8_t socket, const Link& link) { connected_[socket] = &link; }
  void disconnect(std::uint8_t socket) noexcept { connected_[socket] = nullptr; }
  std::span<const std::uint8_t> used() const noexcept { return used_; }
  // As UdpPath::receive() and may_have_more().
  std::span<const UdpArrival> receive() noexcept;
  bool may_have_more() const noexcept { return more_; }

 private:
  static constexpr std::size_t kPlainSlots = 64;
  static constexpr std::size_t kGroSlots = 8;  // each holds up to 64 KiB of datagrams

  struct Slot {
    sockaddr_in6 from;
    iovec room;
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  };

  static constexpr std::size_t kMany = 4;          // in one call: UDP_GRO pays
  static constexpr std::size_t kLarge = 16;        // coalesced in one: worth a call of its own
  static constexpr std::uint16_t kSingles = 4096;  // calls in a row that returned one: UDP_GRO does not pay

  std::size_t read(std::uint8_t socket, std::size_t first_slot) noexcept;
  int read_one(std::uint8_t socket, std::size_t slot) noexcept;
  void take(std::uint8_t socket, std::size_t slot) noexcept;
  void choose_gro(std::uint8_t socket, std::size_t datagrams) noexcept;
  void make_ready(std::size_t slot) noexcept;

  std::vector<Socket>& sockets_;
  Links& links_;
  std::vector<std::uint8_t> used_;
  std::vector<const Link*> connected_;  // by socket
  // By socket. kOne: the queue was nearly empty, so one datagram is requested; kOneCame: that one arrived.
  enum Next : std::uint8_t { kMore, kOne, kOneCame };
  std::vector<Next> one_by_one_;
  std::vector<std::uint16_t> singles_;  // by socket: calls in a row that returned one datagram
  std::vector<std::uint8_t> large_;     // by socket: many were coalesced in one; one such per call is enough
  std::size_t next_ = 0;                // socket to begin with: rotates for fairness
  bool has_gro_ = false;
  bool more_ = false;
  std::size_t dirty_ = 0;  // slots that the last call filled
  std::vector<mmsghdr> headers_;
  std::vector<Slot> slots_;
  std::unique_ptr<std::byte[]> memory_;
  std::vector<UdpArrival> arrivals_;
  std::size_t count_ = 0;
};

}  // namespace herald::path::udp
