// SPDX-License-Identifier: BSD-3-Clause
#include "engine/lanes.hpp"

#include <poll.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace herald::engine {
namespace {

constexpr int kReceiveBatches = 8;  // in one turn
constexpr int kTransmitBatches = 16;
constexpr Duration kHearOld = milliseconds(2000);  // an address that a lane has left
constexpr p2p::PeerId kPrinter = 0;                // tells a person
constexpr int kFullSocketMs = 2;  // wait for room in the socket; then the datagram is lost, and repaired

}  // namespace

LaneNet::LaneNet(const rel::LanesConfig& config, const group::Pool& pool, std::uint64_t seed, p2p::Core& core,
                 ToPeers to_peers, int verbose)
    : config_(config),
      prng_(seed),
      core_(core),
      carrier_(core),
      lanes_(config, prng_, carrier_),
      to_peers_(std::move(to_peers)),
      verbose_(verbose),
      pool_(pool),
      batch_(std::make_unique<rel::TxBatch>()),
      single_(std::make_unique<rel::TxBatch>()) {
  carrier_.join(lanes_);
  pool_.key = config_.seal.key;
}

bool LaneNet::open(const path::McastConfig& config, std::string& why) {
  pool_.family = config.family;
  path::McastConfig own = config;
  own.port = group::port_of(pool_);
  own.datagram_bytes = std::max(config_.datagram_bytes, config_.largest_bytes);
  mcast_ = path::McastPath::open(own, why);
  // The one that all may share comes first: it must not be the one too many.
  if (mcast_) (void)mcast_->join(group::address_of(pool_, 0, group::kSharedMove));
  return mcast_ != nullptr;
}

rel::LaneId LaneNet::open_lane(std::uint64_t name, std::span<const p2p::PeerId> members) noexcept {
  const rel::LaneId lane = lanes_.open(name, members);
  if (lane < 0) return -1;
  if (spots_.size() <= static_cast<std::size_t>(lane)) spots_.resize(static_cast<std::size_t>(lane) + 1);
  Spot& own = spot(lane);
  own = {.group = group::address_of(pool_, name, 0), .name = name};
  if (!mcast_) return lane;
  own.joined = mcast_->join(own.group);
  if (own.joined) return lane;
  if (verbose_ > 0)
    std::fprintf(
        stderr,
        "herald: rank %d: no more groups can be joined (igmp_max_memberships); a communicator shares "
        "the group of others\n",
        config_.me);
  lanes_.set_move(lane, group::kSharedMove);
  follow_moves(Instant{});
  return lane;
}

void LaneNet::close_lane(rel::LaneId lane) noexcept {
  core_.drop_casts(lane);
  leave_group(lane);
  std::erase_if(guests_, [&](const Guest& one) {
    if (one.whole != lane) return false;
    leave_group(one.lane);
    return true;
  });
}

void LaneNet::leave_group(rel::LaneId lane) noexcept {
  lanes_.close(lane);
  if (mcast_ && std::exchange(spot(lane).joined, false)) mcast_->leave(spot(lane).group);
}

// A lane that we, or another member, moved to another address. The old one is heard for a while: there may be
// members that have not followed yet.
void LaneNet::follow_moves(Instant now) noexcept {
  for (const p2p::LaneCarrier::Move& move : carrier_.take_moves()) {
    Spot& own = spot(move.lane);
    const path::GroupAddress group = group::address_of(pool_, own.name, move.move);
    if (!mcast_ || group == own.group) continue;
    const bool joined = mcast_->join(group);
    if (own.joined) leaving_.push_back({now + kHearOld, own.group});
    own.group = group;
    own.joined = joined;
    if (!joined) lanes_.set_move(move.lane, group::kSharedMove);  // follows in the next turn
    stirred_ = true;
    if (verbose_ > 0)
      std::fprintf(stderr, "herald: rank %d: a lane moves to its address number %d\n", config_.me, move.move);
  }
}

void LaneNet::leave_old(Instant now) noexcept {
  std::erase_if(leaving_, [&](const Left& old) {
    if (now < old.at) return false;
    mcast_->leave(old.group);
    return true;
  });
}

// Somebody else uses the group. Where it is not known which one, the next ones will tell.
void LaneNet::on_foreign(Instant now, const path::GroupAddress* group) noexcept {
  mcast_->track_groups();
  if (group == nullptr || !strangers_.on_foreign(now, *group)) return;
  if (verbose_ > 0)
    std::fprintf(stderr, "herald: rank %d: others use a multicast address of ours; its lanes move\n",
                 config_.me);
  for (std::size_t i = 0; i < spots_.size(); ++i)
    if (spots_[i].joined && spots_[i].group == *group) lanes_.move_on(static_cast<rel::LaneId>(i));
}

bool LaneNet::pump(Instant now, rel::LaneId lane) noexcept {
  const bool moved = carrier_.pump(lane);
  stirred_ = true;
  if (moved) (void)transmit(now);
  return moved;
}

bool LaneNet::on_datagram(Instant now, std::span<const std::byte> datagram) noexcept {
  stirred_ = true;
  return lanes_.on_datagram(now, false, datagram);
}

bool LaneNet::receive(Instant now, bool thorough) noexcept {
  bool moved = false;
  for (int i = 0; mcast_ && i < kReceiveBatches; ++i) {
    const auto arrivals = mcast_->receive();
    stirred_ = stirred_ || !arrivals.empty();
    for (std::size_t k = 0; k < arrivals.size(); ++k) {
      if (lanes_.on_datagram(now, true, arrivals[k]))
        moved = true;
      else
        on_foreign(now, mcast_->group_of(k));
    }
    if (thorough ? arrivals.empty() : !mcast_->may_have_more()) break;
  }
  return moved;
}

bool LaneNet::after_receive(Instant now) noexcept {
  answer_calls();
  const std::optional<Instant> due = lanes_.next_deadline();
  if (due && *due <= now) {
    stirred_ = true;
    lanes_.on_deadline(now);
  }
  if (!leaving_.empty()) leave_old(now);
  if (!stirred_) return false;
  stirred_ = false;
  if (carrier_.has_moves()) follow_moves(now);
  dismiss_guests();
  const bool moved = carrier_.pump_ready();
  return transmit(now) || moved;
}

void LaneNet::redeliver() noexcept {
  if (carrier_.holds()) carrier_.redeliver();
}

bool LaneNet::transmit(Instant now) noexcept {
  bool moved = false;
  for (int i = 0; i < kTransmitBatches; ++i) {
    batch_->clear();
    if (lanes_.poll_transmit(now, *batch_) == 0) break;
    moved = true;
    std::array<rel::Tx, rel::TxBatch::kMost> to_groups;
    std::size_t groups = 0;
    single_->clear();
    for (std::size_t k = 0; k < batch_->count; ++k) {
      const rel::Tx& entry = batch_->entries[k];
      if (entry.to >= 0)
        single_->entries[single_->count++] = entry;
      else
        to_groups[groups++] = entry;
    }
    if (groups != 0) send_groups({to_groups.data(), groups});
    if (single_->count != 0) to_peers_(now, *single_);
  }
  return moved;
}

void LaneNet::send_groups(std::span<const rel::Tx> entries) noexcept {
  if (!mcast_) return;
  std::array<path::McastPath::Send, rel::TxBatch::kMost> out;
  for (std::size_t i = 0; i < entries.size(); ++i)
    out[i] = {&spot(rel::Lanes::lane_of(entries[i].to)).group, entries[i].datagram};
  for (std::size_t at = 0, waits = 0; at < entries.size();) {
    const std::size_t left = mcast_->send({out.data() + at, entries.size() - at});
    at += left;
    if (left != 0) continue;
    if (waits++ != 0) break;
    pollfd fd{.fd = mcast_->send_descriptor(), .events = POLLOUT, .revents = 0};
    (void)::poll(&fd, 1, kFullSocketMs);
  }
}

void LaneNet::take_news(Instant now) noexcept {
  for (const p2p::LaneCarrier::News& news : carrier_.take_news()) {
    if (spot(news.lane).part) continue;  // they may not have joined yet
    witness_.on_hearing(now, news.lane, news.member, news.hears);
    if (verbose_ == 0) continue;
    std::fprintf(stderr, "herald: rank %d: rank %d %s\n", config_.me, news.member,
                 news.hears ? "hears our multicast"
                            : "does not hear our multicast; it is served by unicast, and multicast is tried "
                              "again with every cast to others, or with back-off up to a second");
  }
  for (const p2p::LaneCarrier::Loss& loss : carrier_.take_losses()) {
    witness_.on_loss(config_.me, loss.percent);
    if (verbose_ > 0)
      std::fprintf(stderr, "herald: rank %d: %u %% of the multicast from rank %d is lost, and repaired\n",
                   config_.me, loss.percent, loss.source);
  }
}

void LaneNet::report(Instant now, const HostOf& host_of, bool at_end) noexcept {
  if (carrier_.has_news()) take_news(now);
  for (const group::Notice& notice : witness_.take_due(now, at_end)) {
    const std::uint32_t what = notice.loses == 0 ? wire::kNoticeDeaf : wire::kNoticeLoses;
    if (config_.me == kPrinter)
      report_.add(now, config_.me, notice);
    else
      core_.tell(kPrinter, {config_.me, notice.member, what, notice.loses});
  }
  for (const p2p::Core::Notice& notice : core_.take_notices())
    report_.add(now, notice.from,
                {notice.member, notice.what == wire::kNoticeDeaf ? 0 : std::max(notice.amount, 1u)});
  if (report_.is_due(now, at_end)) std::fprintf(stderr, "herald: %s\n", report_.take_line(host_of).c_str());
}

}  // namespace herald::engine
