// SPDX-License-Identifier: BSD-3-Clause
// p2p/flow_control.hpp: how much a sender may push, and the memory that a late receiver holds for it.
// A peer on another host pushes within an allowance that its receiver extends as it consumes. A peer on this
// host pushes until the receiver, which counts the memory, pauses it; meanwhile its messages wait for a pull.
// Both bounds grow while the memory for unexpected messages of all peers (most_unexpected) is not used up.
// Casts beyond cast_unexpected stay in the lane: Core does not take their packets.
#pragma once
#include <cstdint>
#include <vector>

#include "p2p/config.hpp"
#include "p2p/message.hpp"
#include "p2p/peer_table.hpp"
#include "wire/p2p_packet.hpp"

namespace herald::p2p {

class FlowControl {
 public:
  // A message whose sender awaits no answer costs so much beside its bytes: empty messages have a bound, too.
  static constexpr std::uint32_t kRecordBytes = 64;

  FlowControl(const CoreConfig& config, PeerTable& peers) noexcept;

  // As CoreConfig::most_unexpected, once the number of ranks of this host is known.
  void set_most_unexpected(std::uint64_t bytes) noexcept { most_unexpected_ = bytes; }
  // As CoreConfig::remote_more, once the parameters of the network are known.
  void set_remote_more(std::uint32_t bytes) noexcept { remote_more_ = bytes; }

  // By the sender.
  struct Push {
    std::uint32_t first, all;  // bytes of the message in its first packet; without a pull
    bool held_back = false;    // fewer than without flow control
  };
  Push plan_push(const Peer& to, std::uint64_t bytes, std::size_t room) const noexcept {
    if (bytes > room || !may_push_whole(to, bytes)) return plan_long(to, bytes, room);
    return {static_cast<std::uint32_t>(bytes), static_cast<std::uint32_t>(bytes)};
  }
  // The whole message may go in one packet that has room for it, and its sender awaits no answer.
  bool may_push_whole(const Peer& to, std::uint64_t bytes) const noexcept {
    if (!to.remote) return bytes <= most_local_whole_ && !to.paused_by_peer;
    return bytes <= most_remote_whole_ &&
           static_cast<std::int64_t>(bytes + kRecordBytes) <= std::int64_t{to.push_left};
  }
  void on_pushed(Peer& to, std::uint32_t bytes, bool answered) noexcept {
    const std::uint32_t cost = bytes + (answered ? 0 : kRecordBytes);
    to.push_left = static_cast<std::int32_t>(static_cast<std::uint32_t>(to.push_left) - cost);
  }
  bool on_allowance(PeerId from, const wire::AllowancePacket& packet) noexcept;

  // By the receiver: a message waits for its receive; no longer. Pushed bytes were received, or dropped.
  void hold(const Message& message) noexcept;
  void release(const Message& message) noexcept;
  void consume(PeerId from, std::uint32_t bytes) noexcept {
    if (peers_[from].remote) consume_remote(from, bytes);
  }
  static std::uint32_t cost_of(const Envelope& message, std::uint32_t arrived) noexcept {
    return arrived + (message.send_id == 0 ? kRecordBytes : 0);
  }
  // Of the casts of a peer that wait for their receives: bytes, with their records.
  std::uint32_t& held_casts(PeerId from) noexcept {
    if (held_casts_.size() < peers_.size()) held_casts_.resize(peers_.size());
    return held_casts_[static_cast<std::size_t>(from)];
  }
  bool has_room_for_cast(PeerId from, std::size_t bytes) noexcept {
    return held_casts(from) + bytes <= config_.cast_unexpected;
  }

 private:
  Push plan_long(const Peer& to, std::uint64_t bytes, std::size_t room) const noexcept;
  void consume_remote(PeerId from, std::uint32_t bytes) noexcept;
  void grow_allowance(PeerId from) noexcept;
  bool may_grow() const noexcept { return held_bytes_ < most_unexpected_; }
  void pause_peer(PeerId from, bool pause) noexcept;

  const CoreConfig& config_;
  PeerTable& peers_;
  const std::uint64_t most_local_whole_, most_remote_whole_;  // bytes of a message that is one packet
  std::uint64_t most_unexpected_;
  std::uint32_t remote_more_;
  std::uint64_t held_bytes_ = 0;           // memory of messages that wait for their receives
  std::uint64_t granted_bytes_ = 0;        // to peers on other hosts, beyond their first allowance
  std::vector<std::uint32_t> grown_;       // likewise, by peer, from the first one on
  std::vector<std::uint32_t> held_casts_;  // by peer, from the first cast on
};

}  // namespace herald::p2p
