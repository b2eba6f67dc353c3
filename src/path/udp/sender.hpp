// SPDX-License-Identifier: BSD-3-Clause
// path/udp/sender.hpp: batches of datagrams to sendmmsg; equal datagrams to one peer become one UDP_SEGMENT
// message.
// In: the batch; sockets and links. Out: how many were sent, and which cannot be sent.
// No allocation, and no system call but the batch calls unless an error is to be examined.
#pragma once
#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "path/gso.hpp"
#include "path/udp/links.hpp"
#include "path/udp/socket.hpp"
#include "path/udp/udp.hpp"

namespace herald::path::udp {

class Sender {
 public:
  Sender(std::vector<Socket>& sockets, Links& links) noexcept : sockets_(sockets), links_(links) {}
  // As UdpPath::send().
  std::size_t send(std::span<const UdpSend> batch, std::ptrdiff_t& failed) noexcept;
  bool is_blocked() const noexcept { return blocked_; }
  // As UdpPath::gso_packets().
  std::uint32_t gso_packets(std::uint32_t datagram_bytes) const noexcept;

 private:
  static constexpr std::size_t kMessages = 64;  // of one sendmmsg
  static constexpr std::size_t kParts = 256;
  static constexpr int kMostErrors = 8;  // in one send() that are followed by another try

  enum class Next : std::uint8_t { again, full, failed };

  std::size_t fill(std::span<const UdpSend> batch) noexcept;
  std::size_t run_length(std::span<const UdpSend> batch, const Link& link) const noexcept;
  bool send_plain(const UdpSend& one) noexcept;
  Next after_error(int error) noexcept;

  struct Message {
    std::uint16_t datagrams = 0;
    GsoControl control;
  };

  std::vector<Socket>& sockets_;
  Links& links_;
  bool blocked_ = false;
  std::uint8_t socket_ = 0;  // of the messages
  std::size_t count_ = 0;    // messages
  std::array<mmsghdr, kMessages> headers_;
  std::array<Message, kMessages> messages_;
  std::array<iovec, kParts> parts_;
};

}  // namespace herald::path::udp
