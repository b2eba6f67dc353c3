// SPDX-License-Identifier: BSD-3-Clause
// path/udp/receiver.hpp: datagrams from recvmmsg; what UDP_GRO joined is cut again.
// In: sockets that are in use. Out: datagrams with peer and link, in memory of this object until the next
// call. No allocation after the first call, no system call but one recvmmsg for each socket in use.
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
  std::span<const std::uint8_t> used() const noexcept { return used_; }
  // As UdpPath::receive().
  std::span<const UdpArrival> receive() noexcept;

 private:
  static constexpr std::size_t kPlainSlots = 64;
  static constexpr std::size_t kJoinedSlots = 8;     // each holds up to 64 KiB of datagrams
  static constexpr std::size_t kMostSegments = 128;  // joined in one, as the newest kernels may

  struct Slot {
    sockaddr_in6 from;
    iovec room;
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  };

  std::size_t read(std::uint8_t socket, std::size_t first_slot) noexcept;
  void take(std::uint8_t socket, std::size_t slot) noexcept;
  void make_ready(std::size_t slot) noexcept;

  std::vector<Socket>& sockets_;
  Links& links_;
  std::vector<std::uint8_t> used_;
  std::vector<std::uint8_t> one_by_one_;  // by socket: it was near empty, so that asking for more is in vain
  std::size_t next_ = 0;                  // socket to begin with: none starves
  bool joins_ = false;
  std::size_t dirty_ = 0;  // slots that the last call filled
  std::vector<mmsghdr> headers_;
  std::vector<Slot> slots_;
  std::unique_ptr<std::byte[]> memory_;
  std::vector<UdpArrival> arrivals_;
  std::size_t count_ = 0;
};

}  // namespace herald::path::udp
