// SPDX-License-Identifier: BSD-3-Clause
// p2p/peer.hpp: what Core keeps for every peer, talked to or not.
#pragma once
#include <cstddef>
#include <cstdint>

#include "base/list.hpp"
#include "p2p/ops.hpp"

namespace herald::p2p {

struct ControlPacket : ListLink {
  std::uint32_t size = 0;
  std::byte bytes[32];
};

struct Peer : ListLink {  // linked while there is something to send to it
  List<ControlPacket> control;
  List<SendOp> pushes;   // sends and service calls that have not begun, in order
  List<SendOp> streams;  // sends whose data packets are under way
  List<Arriving> arriving;
  std::uint32_t next_seq = 0;  // of the next message to it
  // Peers on other hosts; a message that awaits no answer counts FlowControl::kRecordBytes more:
  std::int32_t push_left = 0;                // bytes that we may still push to it
  std::uint32_t consumed = 0;                // its pushed bytes received since we last extended its allowance
  std::uint32_t borrowed = 0, returned = 0;  // packets that refer to user memory; those that no longer do
  // Peers on this host:
  std::uint32_t unexpected_bytes = 0;  // memory for its messages that wait for a receive
  std::uint32_t header_slot = 0;       // in HeaderContext; 0: no message yet
  bool remote : 1 = false;             // on another host
  bool direct : 1 = false;             // each can access the memory of the other
  bool gone : 1 = false;
  bool paused : 1 = false;          // we asked it not to push
  bool paused_by_peer : 1 = false;  // it asked us not to push
  bool may_end : 1 = false;         // its silence is no failure
};
static_assert(sizeof(Peer) <= 112, "kept for every peer");

}  // namespace herald::p2p
