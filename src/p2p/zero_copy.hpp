// SPDX-License-Identifier: BSD-3-Clause
// p2p/zero_copy.hpp: packets of long messages to other hosts that refer to user memory instead of a copy of
// it, and the sends that wait until the mesh no longer needs that memory.
#pragma once
#include <cstdint>

#include "p2p/config.hpp"
#include "p2p/peer_table.hpp"

namespace herald::p2p {

class ZeroCopy {
 public:
  ZeroCopy(const CoreConfig& config, PeerTable& peers) noexcept : config_(config), peers_(peers) {}

  // The next bytes of the message go from where they are; false: they are to be copied.
  bool borrow(SendOp& op, std::uint32_t bytes, Borrowed& borrowed) noexcept;
  // Packets in flight refer to the memory of the send.
  bool is_borrowed(const SendOp& op) const noexcept {
    return op.borrows && static_cast<std::int32_t>(peers_[op.to].returned - op.borrowed_end) < 0;
  }
  void await_return(SendOp& op) noexcept { waiting_.push_back(op); }
  // So many packets to the peer, the oldest, no longer refer to user memory.
  void on_returned(PeerId to, std::uint32_t packets) noexcept { peers_[to].returned += packets; }
  // A send whose memory is its own again; null: none.
  SendOp* take_returned() noexcept;

 private:
  const CoreConfig& config_;
  PeerTable& peers_;
  List<SendOp> waiting_;
};

}  // namespace herald::p2p
