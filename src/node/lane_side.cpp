// SPDX-License-Identifier: BSD-3-Clause
#include "node/lane_side.hpp"

namespace herald::node {

LaneSide::LaneSide(const NodeConfig& config, p2p::Core& core, PacketTap* tap,
                   std::vector<NodeEvent>& events) noexcept
    : me_(config.lanes.me),
      reporter_(config.reporter),
      prng_(config.lanes_seed),
      core_(core),
      carrier_(core),
      lanes_(config.lanes, prng_, tap != nullptr ? tap->multicast(carrier_) : carrier_),
      registry_(config.lanes.me, config.lanes.peers, core, carrier_, lanes_),
      fused_(core, lanes_),
      pool_(config.pool),
      events_(events) {
  carrier_.join(lanes_);
  pool_.key = config.lanes.seal.key;
}

void LaneSide::use_groups(GroupMembership& groups) noexcept {
  groups_ = &groups;
  registry_.use(pool_, this);
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
bool LaneSide::on_datagram(Instant now, bool by_group, std::span<const std::byte> datagram) noexcept {
  const bool good = lanes_.on_datagram(now, by_group, datagram);
  arrived_ = true;
  touched_ = touched_ || !good || !wire::is_fused(datagram) || lanes_.wants_to_send();
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

void LaneSide::on_shared() noexcept { events_.push_back({NodeEvent::Kind::group_shared}); }
void LaneSide::on_moved(std::uint8_t move) noexcept {
  events_.push_back({NodeEvent::Kind::lane_moved, -1, move});
}
void LaneSide::on_strangers() noexcept { events_.push_back({NodeEvent::Kind::group_foreign}); }

// Members of a sub-lane may not have joined yet: they are not reported.
void LaneSide::take_news(Instant now) noexcept {
  using Kind = NodeEvent::Kind;
  for (const p2p::LaneCarrier::News& news : carrier_.take_news()) {
    if (registry_.is_part(news.lane)) continue;
    witness_.on_hearing(now, news.lane, news.member, news.hears);
    events_.push_back({news.hears ? Kind::multicast_restored : Kind::multicast_lost, news.member});
  }
  for (const p2p::LaneCarrier::Loss& loss : carrier_.take_losses()) {
    witness_.on_loss(me_, loss.percent);
    events_.push_back({Kind::multicast_lossy, loss.source, loss.percent});
  }
}

std::string LaneSide::report(Instant now, const group::Report::HostOf& host_of, bool at_end) noexcept {
  if (carrier_.has_news()) take_news(now);
  for (const group::Notice& notice : witness_.take_due(now, at_end)) {
    const std::uint32_t what = notice.loses == 0 ? wire::kNoticeDeaf : wire::kNoticeLoses;
    if (me_ == reporter_)
      report_.add(now, me_, notice);
    else
      core_.tell(reporter_, {me_, notice.member, what, notice.loses});
  }
  for (const p2p::Core::Notice& notice : core_.take_notices())
    report_.add(now, notice.from,
                {notice.member, notice.what == wire::kNoticeDeaf ? 0 : std::max(notice.amount, 1u)});
  return report_.is_due(now, at_end) ? report_.take_line(host_of) : std::string();
}

}  // namespace herald::node
