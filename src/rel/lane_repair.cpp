// SPDX-License-Identifier: BSD-3-Clause
#include "rel/lane_repair.hpp"

#include <algorithm>
#include <utility>

namespace herald::rel {
namespace {

constexpr std::uint8_t kLostAgain = 6;  // repairs of a packet, at the member that asks for it
// Without progress: where members lose packets at random, each takes some round trips less.
constexpr Duration kStall = milliseconds(100);
constexpr int kStallTimeouts = 10;

}  // namespace

// Long enough for the NAKs of all members that lost the same packet: their grace varies by as much.
Duration LaneRepair::gather_time() const noexcept {
  if (audience_.live() < 2) return {};
  return {audience_.base().ns / 4};
}

void LaneRepair::on_nak(Instant now, std::uint32_t place, Seq next,
                        std::span<const std::byte> body) noexcept {
  const auto& nak = wire::part_at<wire::CastNak>(body);
  // Packets were too long for a link: nothing was overrun.
  if (std::exchange(braked_at_, context_.datagram_bytes()) != context_.datagram_bytes()) brake_ = {};
  const std::size_t count = (body.size() - sizeof nak) / sizeof(wire::NakRange);
  for (std::size_t i = 0; i < count; ++i) {
    const auto& range = wire::part_at<wire::NakRange>(body, sizeof nak + i * sizeof(wire::NakRange));
    const Seq first = next + range.first;
    for (Seq seq = first; seq != first + range.count; ++seq) {
      if (before(seq, stream_.log.first())) continue;
      if (!before(seq, stream_.next_tx)) break;
      want(now, place, seq, nak.end);
    }
  }
}

// How long a repair may take that no later packet overtakes: what lies in the interface before it goes first.
Duration LaneRepair::travel_time(const PendingRepair& repair) const noexcept {
  const Audience::Timing& timing = audience_.timing();
  if (repair.mark != stream_.next_tx) return {2 * timing.timeout.ns};  // a later packet shows its loss
  if (timing.base.ns == 0) return timing.timeout;
  const std::int64_t queued = std::max<std::int64_t>(0, (stream_.last_tx + timing.queue - repair.at).ns);
  return {timing.base.ns * 5 / 4 + queued};
}

void LaneRepair::on_lost(Instant now, PendingRepair& repair) noexcept {
  if (repair.lost < kLostAgain) ++repair.lost;
  const Duration timeout = audience_.timing().timeout;
  const Duration stall = std::max(kStall, Duration{kStallTimeouts * timeout.ns});
  if (repair.lost == kLostAgain && stream_.oldest_at != kNever && now - stream_.oldest_at > stall)
    brake_.on_lost_again(now, timeout);
}

void LaneRepair::want(Instant now, std::uint32_t place, Seq seq, Seq end) noexcept {
  const LaneMember& member = audience_[place];
  if (member.cursor.has(seq)) return;
  if (member.is_unicast() && !before(seq, member.unicast_next)) return;  // will be sent to it anyway
  if (repairs_ == nullptr) repairs_ = std::make_unique<PendingRepair[]>(std::bit_ceil(context_.window));
  PendingRepair& repair = repairs_[slot(seq)];
  const auto asker = static_cast<std::int32_t>(place);
  if (repair.seq != seq) {
    // A repair that waits has not left the log, so no other packet has its slot.
    repair = {};
    repair.seq = seq;
  }
  switch (repair.state) {
    case PendingRepair::State::waiting:
      if (repair.member != asker) repair.member = kAllMembers;
      return;
    case PendingRepair::State::sent:
      if (repair.member != kAllMembers && repair.member != asker) break;
      // It asked before the repair could have come: nothing that left after the repair has come yet.
      if (!before(repair.mark, end) && now - repair.at < travel_time(repair)) return;
      on_lost(now, repair);
      break;
    case PendingRepair::State::none: break;
  }
  repair.state = PendingRepair::State::waiting;
  repair.member = asker;
  repair.at = member.is_unicast() ? now : now + gather_time();
  queue_.push(seq);
}

PendingRepair* LaneRepair::next_due(Instant now) noexcept {
  while (!queue_.empty()) {
    const Seq seq = queue_.front();
    PendingRepair& repair = repairs_[slot(seq)];
    const bool wanted = repair.seq == seq && repair.state == PendingRepair::State::waiting &&
                        !before(seq, stream_.log.first()) && before(seq, stream_.next_tx) &&
                        (repair.member == kAllMembers ||
                         !audience_[static_cast<std::uint32_t>(repair.member)].cursor.has(seq));
    if (wanted) return std::max(repair.at, brake_.next_at()) <= now ? &repair : nullptr;
    if (repair.seq == seq) repair.state = PendingRepair::State::none;
    queue_.pop();
  }
  return nullptr;
}

void LaneRepair::on_sent(PendingRepair& repair, Instant now) noexcept {
  queue_.pop();
  repair.state = PendingRepair::State::sent;
  repair.at = now;
  repair.mark = stream_.next_tx;
  brake_.on_sent(now, audience_.timing().timeout);
}

void LaneRepair::drop(PendingRepair& repair) noexcept {
  repair.state = PendingRepair::State::none;
  queue_.pop();
}

}  // namespace herald::rel
