// SPDX-License-Identifier: BSD-3-Clause
#include "node/lane_side.hpp"

namespace herald::node {

LaneSide::LaneSide(const NodeConfig& config, p2p::Core& core, PacketTap* tap, rel::PeerLiveness& peers,
                   std::vector<NodeEvent>& events) noexcept
    : prng_(config.lanes_seed),
      carrier_(core),
      lanes_(config.lanes, prng_, tap != nullptr ? tap->multicast(carrier_) : carrier_, &peers),
      registry_(config.lanes.me, config.lanes.peers, core, carrier_, lanes_),
      fused_(core, lanes_),
      pool_(config.pool),
      groups_(events),
      reports_(config.lanes.me, config.reporter, core, carrier_, registry_, events) {
  carrier_.join(lanes_);
  pool_.key = config.lanes.seal.key;
}

void LaneSide::use_groups(GroupMembership& groups) noexcept {
  groups_.use(groups);
  registry_.use(pool_, &groups_);
}

void LaneSide::close(rel::LaneId lane) noexcept {
  fused_.drop(lane);
  registry_.close(lane);
}

bool LaneSide::pump(rel::LaneId lane) noexcept {
  touched_ = true;
  return carrier_.pump(lane);
}

bool LaneSide::complete_fused() noexcept {
  if (!arrived_ || !fused_.waits()) return false;
  arrived_ = false;
  return fused_.look();
}

// A fused exchange leaves nothing to do but its own completion.
bool LaneSide::on_datagram(Instant now, bool by_group, std::span<const std::byte> datagram,
                           rel::LinkId link) noexcept {
  const bool good = lanes_.on_datagram(now, by_group, datagram, link);
  arrived_ = true;
  touched_ = touched_ || !good || !wire::is_fused(datagram) || lanes_.wants_to_send();
  return good;
}

std::uint32_t LaneSide::on_group_datagrams(Instant now,
                                           std::span<const std::span<const std::byte>> came) noexcept {
  if (came.size() == 1) return on_datagram(now, true, came[0]) ? 1 : 0;
  const std::uint32_t good = lanes_.on_group_datagrams(now, came);
  arrived_ = touched_ = true;
  return good;
}

bool LaneSide::end_turn(Instant now) noexcept {
  registry_.answer_calls();
  const std::optional<Instant> due = lanes_.next_deadline();
  if (due && *due <= now) {
    touched_ = true;
    lanes_.on_deadline(now);
  }
  registry_.leave_old(now);
  if (registry_.take_stirred()) touched_ = true;
  if (!touched_) return false;
  touched_ = false;
  registry_.turn(now);
  return carrier_.pump_ready();
}

void LaneSide::forget(PeerId peer) noexcept {
  registry_.forget(peer);
  arrived_ = true;
}

std::optional<Instant> LaneSide::next_deadline() const noexcept {
  if (carrier_.has_calls()) return Instant{};
  return lanes_.next_deadline();
}

}  // namespace herald::node
