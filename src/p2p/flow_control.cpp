// SPDX-License-Identifier: BSD-3-Clause
#include "p2p/flow_control.hpp"

#include <algorithm>

namespace herald::p2p {

using namespace wire;

namespace {

constexpr std::int64_t kMostAllowance = 1 << 30;  // bytes of one peer, however much memory there is

}  // namespace

FlowControl::FlowControl(const CoreConfig& config, PeerTable& peers) noexcept
    : config_(config),
      peers_(peers),
      most_local_whole_(config.mode == PushMode::zero
                            ? 0
                            : std::min<std::uint64_t>(config.push_bytes,
                                                      std::max<std::uint64_t>(config.direct_bytes, 1) - 1)),
      most_remote_whole_(config.mode == PushMode::pull ? std::min(config.remote_first, config.most_pushed)
                                                       : 0),
      most_unexpected_(config.most_unexpected),
      remote_more_(config.remote_more) {}

FlowControl::Push FlowControl::plan_long(const Peer& to, std::uint64_t bytes,
                                         std::size_t room) const noexcept {
  if (config_.mode == PushMode::zero) return {0, 0};
  const std::size_t limit =
      std::min<std::size_t>(to.remote ? config_.remote_first : config_.push_bytes, room);
  const auto first = static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes, limit));
  std::uint64_t more = to.remote ? remote_more_ : 0;
  if (config_.mode == PushMode::all) more = config_.most_pushed;
  const auto all = static_cast<std::uint32_t>(
      std::min({bytes, first + more, std::uint64_t{std::max(first, config_.most_pushed)}}));
  if (config_.mode == PushMode::all) return {first, all};
  if (!to.remote) return to.paused_by_peer ? Push{0, 0, true} : Push{first, all};
  const std::int64_t left = std::int64_t{to.push_left} - kRecordBytes;
  if (static_cast<std::int64_t>(all) <= left) return {first, all};
  if (static_cast<std::int64_t>(first) <= left) return {first, first, true};
  return {0, 0, true};
}

bool FlowControl::on_allowance(PeerId from, const AllowancePacket& packet) noexcept {
  Peer& to = peers_[from];
  const std::uint32_t bytes = packet.bytes;
  if (!to.remote) {
    to.paused_by_peer = bytes == 0 && config_.mode != PushMode::all;
    return bytes <= 1;
  }
  // A receiver cannot have consumed more than was pushed to it.
  const std::int64_t left = std::int64_t{to.push_left} + bytes;
  const std::int64_t most = most_unexpected_ == 0 ? std::int64_t{config_.remote_allowance} : kMostAllowance;
  if (left > most) return false;
  to.push_left = static_cast<std::int32_t>(left);
  return true;
}

void FlowControl::hold(const Message& message) noexcept {
  const PeerId from = message.envelope.from;
  Peer& sender = peers_[from];
  if (message.envelope.cast) {
    held_casts(from) += message.arrived + std::uint32_t{sizeof(Message)};
    return;
  }
  held_bytes_ += message.cost;
  if (sender.remote) {
    sender.unexpected_bytes += cost_of(message.envelope, message.envelope.pushed);
    grow_allowance(from);
  } else if (from != config_.me) {
    sender.unexpected_bytes += message.cost;
    if (!sender.paused && sender.unexpected_bytes > config_.local_allowance && !may_grow())
      pause_peer(from, true);
  }
}

void FlowControl::release(const Message& message) noexcept {
  const PeerId from = message.envelope.from;
  Peer& sender = peers_[from];
  if (message.envelope.cast) {
    held_casts(from) -= message.arrived + std::uint32_t{sizeof(Message)};
    return;
  }
  held_bytes_ -= message.cost;
  if (sender.remote) {
    sender.unexpected_bytes -= cost_of(message.envelope, message.envelope.pushed);
    consume(from, cost_of(message.envelope, message.arrived));
  } else if (from != config_.me) {
    sender.unexpected_bytes -= message.cost;
    if (sender.paused && sender.unexpected_bytes <= config_.local_allowance / 2) pause_peer(from, false);
  }
}

void FlowControl::pause_peer(PeerId from, bool pause) noexcept {
  peers_[from].paused = pause;
  peers_.send_control(from, AllowancePacket{p2p_prefix(P2pKind::allowance), pause ? 0u : 1u});
}

// Its messages fill half of what it may push: the rest is doubled before the sender is held back.
void FlowControl::grow_allowance(PeerId from) noexcept {
  if (!may_grow()) return;
  if (grown_.size() < peers_.size()) grown_.resize(peers_.size());
  std::uint32_t& grown = grown_[static_cast<std::size_t>(from)];
  const std::uint32_t allowance = config_.remote_allowance + grown;
  if (peers_[from].unexpected_bytes < allowance / 2 || allowance > kMostAllowance / 4 ||
      granted_bytes_ + allowance > most_unexpected_)
    return;
  grown += allowance;
  granted_bytes_ += allowance;
  peers_.send_control(from, AllowancePacket{p2p_prefix(P2pKind::allowance), allowance});
}

void FlowControl::consume_remote(PeerId from, std::uint32_t bytes) noexcept {
  Peer& sender = peers_[from];
  sender.consumed += bytes;
  if (sender.consumed < config_.remote_allowance / 4) return;
  peers_.send_control(from, AllowancePacket{p2p_prefix(P2pKind::allowance), sender.consumed});
  sender.consumed = 0;
}

}  // namespace herald::p2p
