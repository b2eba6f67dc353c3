// SPDX-License-Identifier: BSD-3-Clause
// engine/net_lanes.cpp: the net's lanes: by which interface, and what they have in common with the mesh.
#include <algorithm>
#include <cstdio>
#include <utility>

#include "engine/net.hpp"

namespace herald::engine {

void Net::start_lanes(const NetStart& start) noexcept {
  rel::LanesConfig config;
  config.me = rank_;
  config.peers = size_;
  config.seal = config_.seal;
  config.datagram_bytes = config_.datagram_bytes;
  config.largest_bytes = config_.largest_bytes;
  config.mode = lane_mode_;
  config.window_packets = lane_window_;
  config.held_packets = udp_->receive_bytes() / std::max(config.largest_bytes, config.datagram_bytes);
  config.give_up = rel::give_up_after(detect_);  // as the mesh does
  lanes_ = std::make_unique<LaneNet>(
      config, pool_, start.seed + 1, core_,
      [this](Instant now, const rel::TxBatch& batch) { send(now, batch); }, verbose_);
  if (!lanes_on_) return;
  path::McastConfig groups;
  path::UdpLocal local;
  for (int peer = 0; peer < size_; ++peer) {
    if (links_[static_cast<std::size_t>(peer)] == 0) continue;
    const path::UdpLocal way = udp_->local_of(peer, 0);
    if (local.family == 0) local = way;
    groups.loop = groups.loop || way.same_host;
  }
  groups.family = local.family;
  groups.local = local.address;
  groups.interface = local.interface;
  groups.socket_bytes = socket_bytes_;
  groups.segment = segment_;
  std::string why;
  if (!lanes_->open(groups, why) && verbose_ > 0)
    std::fprintf(stderr, "herald: rank %d: no multicast: %s\n", rank_, why.c_str());
}

rel::LaneId Net::open_lane(std::uint64_t name, std::span<const p2p::PeerId> members) noexcept {
  return lanes_on_ ? lanes_->open_lane(name, members) : -1;
}

void Net::close_lane(rel::LaneId lane) noexcept { lanes_->close_lane(lane); }

p2p::PeerId Net::take_lost() noexcept {
  for (const p2p::PeerId lost : lanes_->take_lost()) carrier_.peer_lost(lost);
  const p2p::PeerId peer = carrier_.take_lost();
  if (peer >= 0) process_trace.add(TraceEvent::peer_lost, std::uint64_t{0}, peer);
  return peer;
}

bool Net::may_doze() noexcept {
  const std::uint64_t again = lanes_->counters().fused_resent;
  if (std::exchange(fused_resent_, again) != again) awake_for_ = std::max(awake_for_, kAwakeAfterLoss);
  if (awake_for_ != 0) {
    --awake_for_;
    return false;
  }
  if (told_ || !mesh_->is_idle() || !lanes_->may_doze() || lanes_->report_at() != rel::kNever) return false;
  due_ = next_deadline().value_or(rel::kNever);
  return true;
}

// What has come elsewhere is not known.
void Net::dozed(bool came) noexcept {
  slept_ = true;
  if (sleeps_ < kBackSleeps) ++sleeps_;
  if (++dozes_ % kDozesToForget == 0) awake_ = std::max(awake_ / 2, kLeastAwake);
  if (came) return take({.lanes = true});
  awake_for_ = awake_;
  awake_ = std::min(awake_ * 2, kMostAwake);
}

std::optional<Instant> Net::next_deadline() const noexcept {
  const std::optional<Instant> one = mesh_->next_deadline();
  const std::optional<Instant> other = lanes_->next_deadline();
  const Instant at = std::min({one.value_or(rel::kNever), other.value_or(rel::kNever), lanes_->report_at()});
  if (at == rel::kNever) return std::nullopt;
  return at;
}

}  // namespace herald::engine
