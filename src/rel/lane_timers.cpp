// SPDX-License-Identifier: BSD-3-Clause
// rel/lane_timers.cpp: the deadlines of lanes: a tail that nobody acknowledges, holes, acks that are owed.
#include <algorithm>
#include <bit>

#include "rel/lane_inner.hpp"

namespace herald::rel {
namespace {

constexpr Duration kMostBetweenAsks = milliseconds(100);
constexpr Duration kMostBetweenNaks = milliseconds(20);
constexpr std::uint32_t kAskAll = 3;  // so many that lag are asked by multicast first
constexpr std::uint8_t kMostRenaks = 4;

}  // namespace

Instant Lanes::Inner::deadline_of(const LaneActor& actor) const noexcept {
  if (actor.kind == ActorKind::fused) return static_cast<const FusedExchange&>(actor).armed;
  if (actor.kind == ActorKind::receiver) {
    const auto& in = static_cast<const LaneIn&>(actor);
    return std::min({in.ack_due, in.tree_due, in.grace_at, in.renak_at, in.again_at});
  }
  const auto& lane = static_cast<const Lane&>(actor);
  Instant at = std::min(lane.tail_at, lane.notice_at);
  if (!lane.mend_queue.empty())
    at = std::min(at, lane.mends[lane.mend_queue.front() & (std::bit_ceil(window) - 1)].at);
  return at;
}

void Lanes::Inner::rearm(LaneActor& actor) noexcept {
  const Instant at = deadline_of(actor);
  if (at == kNever) {
    heap.remove(actor);
  } else {
    heap.set(actor, at);
  }
}

// When to ask those who have not acknowledged: acks may be held back for a round trip and a half after the
// last packet, and for longest_hold() after the first; in a tree there are more steps.
void Lanes::Inner::arm_tail(Lane& lane, Instant now) noexcept {
  const bool outstanding = lane.lowest != lane.next_tx;
  const bool blocked = lane.refused && !before(lane.log.end(), lane.limit);
  if (!outstanding && !blocked) {
    lane.tail_at = kNever;
    lane.asks = 0;
    return;
  }
  if (lane.oldest_at == kNever) lane.oldest_at = now;
  const std::int64_t rtt = rtt_of(lane).ns;
  const std::int64_t steps = lane.tree && !lane.direct ? 2 * rtt : 0;
  const std::int64_t quiet = lane.timeout.ns + 3 * rtt / 2 + steps;
  if (lane.asks == 0) {
    const Duration held = longest_hold(Duration{rtt}, 6, lane.small);
    const Instant at = std::min(lane.last_tx + Duration{quiet}, lane.oldest_at + Duration{quiet} + held);
    lane.tail_at = std::max(at, lane.deferred_until);
    return;
  }
  const std::int64_t wait = std::min(quiet << std::min<int>(lane.asks - 1, 10), kMostBetweenAsks.ns);
  lane.tail_at = lane.asked_at + Duration{std::min(std::max(wait, quiet), config.give_up.ns / 4)};
}

void Lanes::on_clock_gap(Instant now) noexcept {
  Inner& in = *inner_;
  if (in.heap.empty()) return;
  const Duration late = now - in.heap.top().at;
  if (late < most_late(in.config.give_up)) return;
  for (Instant& heard : in.heard_at) heard = std::min(heard + late, now);
  for (const auto& lane : in.lanes) {
    if (lane == nullptr) continue;
    for (LaneMember& member : lane->cursors)
      if (member.asked_since != kNever) member.asked_since = std::min(member.asked_since + late, now);
  }
}

void Lanes::Inner::on_tail(Lane& lane, Instant now) noexcept {
  const bool blocked = lane.refused && !before(lane.log.end(), lane.limit);
  const auto lags = [&](const LaneMember& member) {
    if (member.hearing == Hearing::gone) return false;
    return member.cursor.next != lane.next_tx || (blocked && !before(lane.log.end(), member.cursor.limit));
  };
  std::uint32_t lagging = 0;
  for (std::uint32_t i = 0; i < lane.cursors.size(); ++i) {
    LaneMember& member = lane.cursors[i];
    if (!lags(member)) continue;
    const Instant heard = heard_at[static_cast<std::size_t>(lane.members[i])];
    if (member.asked_since != kNever && now - std::max(member.asked_since, heard) >= config.give_up) {
      lose(lane, now, i);
      calling = true;
      listener.member_lost(lane.id, lane.members[i]);
      calling = false;
      continue;
    }
    ++lagging;
  }
  const bool all = lane.asks == 0 && lagging >= kAskAll && lane.listening != 0;
  if (all) lane.group_ask = lane.group_answer = true;
  for (LaneMember& member : lane.cursors)
    if (lags(member) && (!all || member.hearing != Hearing::hears)) member.ask_due = lane.some_asks = true;
  if (lagging == 0) {
    arm_tail(lane, now);
    return;
  }
  if (keeps_order())
    for (LaneMember& member : lane.cursors)
      if (lags(member)) go_back(lane, now, member);
  if (lane.asks < 20) ++lane.asks;
  lane.asked_at = now;
  arm_tail(lane, now);
  wake(lane);
}

void Lanes::Inner::on_in_timers(LaneIn& in, Instant now) noexcept {
  if (in.again_at <= now) drain(in, now);
  if (in.ack_due <= now || in.tree_due <= now) {
    in.ack_due = in.tree_due = kNever;
    in.ack_now = in.waited = true;
    wake(in);
  }
  const std::int64_t rtt = rtt_of(in).ns;
  if (in.grace_at <= now) {
    if (in.nak_from == in.nak_to) in.nak_from = in.naked_end;
    in.nak_to = in.naked_end = in.armed_end;
    in.grace_at = kNever;
    if (in.renak_at == kNever) in.renak_at = now + Duration{std::min(3 * rtt / 2, kMostBetweenNaks.ns)};
    find_holes(in, now);
    wake(in);
  }
  if (in.renak_at <= now) {
    in.nak_from = in.next;
    in.nak_to = in.naked_end;
    in.renaks = in.next != in.renak_next ? 0 : std::min<std::uint8_t>(in.renaks + 1, kMostRenaks);
    in.renak_next = in.next;
    const std::int64_t wait = std::min((3 * rtt / 2) << in.renaks, kMostBetweenNaks.ns);
    in.renak_at =
        now + Duration{wait + static_cast<std::int64_t>(prng.below(static_cast<std::uint64_t>(rtt / 4 + 1)))};
    wake(in);
  }
}

bool Lanes::Inner::deferral(LaneActor& actor, Instant now, Duration time) noexcept {
  if (actor.kind == ActorKind::fused) return defer_fused(static_cast<FusedExchange&>(actor), now, time);
  if (actor.kind == ActorKind::receiver) {
    auto& in = static_cast<LaneIn&>(actor);
    if (now < in.ack_due || !in.deferral.may(now, kAckDeferral)) return false;
    in.deferral.note(now);
    in.ack_due = now + std::max(time, std::clamp(rtt_of(in), kLeastAckDelay, kMostAckDelay));
    return true;
  }
  auto& lane = static_cast<Lane&>(actor);
  if (lane.asks != 0 || now < std::min(lane.tail_at, lane.notice_at) ||
      !lane.deferral.may(now, kRepeatDeferral))
    return false;
  lane.deferral.note(now);
  lane.deferred_until = now + std::max(time, Duration{lane.timeout.ns + 2 * rtt_of(lane).ns});
  if (lane.notice_at <= now) lane.notice_at = now + std::max(time, rtt_of(lane));
  arm_tail(lane, now);
  return true;
}

void Lanes::Inner::on_timers(LaneActor& actor, Instant now) noexcept {
  if (actor.kind == ActorKind::fused) return on_fused_timers(static_cast<FusedExchange&>(actor), now);
  if (actor.kind == ActorKind::receiver) return on_in_timers(static_cast<LaneIn&>(actor), now);
  auto& lane = static_cast<Lane&>(actor);
  if (lane.notice_at <= now) {
    lane.notice_at = kNever;
    lane.group_ask = true;
    lane.group_answer = lane.group_answer || lane.burst >= window / 4;
    lane.burst = 0;
    wake(lane);
  }
  if (lane.tail_at <= now) on_tail(lane, now);
  Mend* mend = nullptr;
  if (next_repair(lane, now, mend)) wake(lane);
}

}  // namespace herald::rel
