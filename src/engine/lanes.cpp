// SPDX-License-Identifier: BSD-3-Clause
#include "engine/lanes.hpp"

#include <poll.h>

#include <algorithm>
#include <cstdio>
#include <utility>

namespace herald::engine {
namespace {

constexpr p2p::PeerId kPrinter = 0;  // tells a person

}  // namespace

LaneNet::LaneNet(const rel::LanesConfig& config, const group::Pool& pool, std::uint64_t seed, p2p::Core& core,
                 ToPeers to_peers, int verbose)
    : config_(config),
      prng_(seed),
      core_(core),
      carrier_(core),
      lanes_(config, prng_, carrier_),
      registry_(config.me, config.peers, core, carrier_, lanes_),
      fused_ops_(core, lanes_),
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
  if (mcast_) registry_.use(pool_, this);
  return mcast_ != nullptr;
}

void LaneNet::on_shared() noexcept {
  if (verbose_ > 0)
    std::fprintf(
        stderr,
        "herald: rank %d: no more groups can be joined (igmp_max_memberships); a communicator shares "
        "the group of others\n",
        config_.me);
}

void LaneNet::on_moved(std::uint8_t move) noexcept {
  if (verbose_ > 0)
    std::fprintf(stderr, "herald: rank %d: a lane moves to its address number %d\n", config_.me, move);
}

void LaneNet::on_strangers() noexcept {
  if (verbose_ > 0)
    std::fprintf(stderr, "herald: rank %d: others use a multicast address of ours; its lanes move\n",
                 config_.me);
}

bool LaneNet::pump(Instant now, rel::LaneId lane) noexcept {
  const bool moved = carrier_.pump(lane);
  stirred_ = true;
  if (moved) (void)transmit(now);
  return moved;
}

void LaneNet::start(Instant now, p2p::FusedOp& op) noexcept {
  fused_ops_.start(now, op);
  (void)transmit(now);
}

bool LaneNet::on_datagram(Instant now, std::span<const std::byte> datagram) noexcept {
  const bool good = lanes_.on_datagram(now, false, datagram);
  note(datagram);
  return good;
}

bool LaneNet::receive(Instant now, bool thorough) noexcept {
  bool moved = false;
  for (int i = 0; mcast_ && i < kReceiveBatches; ++i) {
    const auto arrivals = dozed_.empty() ? mcast_->receive() : std::exchange(dozed_, {});
    for (std::size_t k = 0; k < arrivals.size(); ++k) {
      if (lanes_.on_datagram(now, true, arrivals[k])) {
        note(arrivals[k]);
        moved = true;
        continue;
      }
      stirred_ = true;
      // Somebody else uses the group. Where it is not known which one, the next ones will tell.
      mcast_->track_groups();
      if (const path::GroupAddress* const group = mcast_->group_of(k)) registry_.on_foreign(now, *group);
    }
    if (thorough ? arrivals.empty() : !mcast_->may_have_more()) break;
  }
  return moved;
}

bool LaneNet::after_receive(Instant now) noexcept {
  registry_.answer_calls();
  const std::optional<Instant> due = lanes_.next_deadline();
  if (due && *due <= now) {
    stirred_ = true;
    lanes_.on_deadline(now);
  }
  registry_.leave_old(now);
  if (registry_.take_stirred()) stirred_ = true;
  if (!stirred_) return false;
  stirred_ = false;
  registry_.turn(now);
  const bool moved = carrier_.pump_ready();
  return transmit(now) || moved;
}

void LaneNet::redeliver() noexcept {
  if (carrier_.holds()) carrier_.redeliver();
}

bool LaneNet::transmit(Instant now) noexcept {
  bool moved = false;
  for (int i = 0; i < kTransmitBatches; ++i) {
    if (!lanes_.wants_to_send() || lanes_.poll_transmit(now, *batch_) == 0) break;
    moved = true;
    single_->clear();
    to_groups_.clear();
    for (std::size_t k = 0; k < batch_->count; ++k) {
      const rel::Tx& entry = batch_->entries[k];
      if (entry.to >= 0)
        single_->entries[single_->count++] = entry;
      else
        to_groups_.push_back({&registry_.group_of(rel::Lanes::lane_of(entry.to)), entry.datagram});
    }
    if (!to_groups_.empty()) send_groups();
    if (single_->count != 0) to_peers_(now, *single_);
  }
  return moved;
}

void LaneNet::send_groups() noexcept {
  if (!mcast_) return;
  for (std::size_t at = 0, waits = 0; at < to_groups_.size();) {
    const std::size_t left = mcast_->send({to_groups_.data() + at, to_groups_.size() - at});
    at += left;
    if (left != 0) continue;
    if (waits++ != 0) break;
    pollfd fd{.fd = mcast_->send_descriptor(), .events = POLLOUT, .revents = 0};
    (void)::poll(&fd, 1, kFullSocketMs);
  }
}

void LaneNet::take_news(Instant now) noexcept {
  for (const p2p::LaneCarrier::News& news : carrier_.take_news()) {
    if (registry_.is_part(news.lane)) continue;  // they may not have joined yet
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
