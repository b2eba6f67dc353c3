// SPDX-License-Identifier: BSD-3-Clause
// rel/lane_receiver.cpp: the stream of another member: what it brings, and what is missing of it.
#include <algorithm>
#include <bit>

#include "rel/lane_inner.hpp"

namespace herald::rel {
namespace {

constexpr Duration kLeastGrace = microseconds(10);
constexpr Duration kRetryDelivery = milliseconds(10);  // redeliver() is sooner
constexpr std::uint16_t kJudgeLoss = 128;              // packets
constexpr std::uint32_t kMuchLoss = 25;                // of a hundred

}  // namespace

void Lanes::Inner::note_source(LaneIn& in, bool by_group, std::uint8_t flags,
                               const wire::LanePart& part) noexcept {
  if (part.rtt_us != 0) in.rtt = microseconds(part.rtt_us);
  if (part.base_us != 0) in.base = microseconds(part.base_us);
  in.direct = (flags & wire::kFlagDirect) != 0;
  if (by_group) in.heard = true;
}

// Hands the packet whose turn it is to the listener. False: it does not want it now.
bool Lanes::Inner::hand_in(LaneIn& in, Instant now, std::span<const std::byte> packet) noexcept {
  if (in.lane.closing) return false;
  calling = true;
  const Status status = listener.heard(in.lane.id, in.lane.members[in.member], packet);
  calling = false;
  if (status == Status::ok) {
    ++in.delivered;
    in.again_at = kNever;
    return true;
  }
  in.refused = true;
  in.again_at = now + kRetryDelivery;
  return false;
}

void Lanes::Inner::drain(LaneIn& in, Instant now) noexcept {
  in.again_at = kNever;
  const Seq before_it = in.delivered;
  while (in.delivered != in.next && in.reorder.has(in.delivered)) {
    const Seq seq = in.delivered;
    const Reorder::Taken taken = in.reorder.take(seq);
    if (!hand_in(in, now, {kept_pool.at(taken.slot), taken.bytes})) {
      in.reorder.put_back(seq, taken);
      break;
    }
    kept_pool.give(taken.slot);
  }
  // The source may wait for credit.
  if (in.refused && in.delivered != before_it) {
    const Seq told = in.limit;
    grant(in);
    if (in.delivered == in.next || in.limit - told >= std::max(1u, granted / 4)) ack_at_once(in, true);
  }
  rearm(in);
}

// Takes a packet that is new. False: there is no room for it; as if it had been lost.
bool Lanes::Inner::accept(LaneIn& in, Instant now, Seq seq, std::span<const std::byte> packet) noexcept {
  if (seq == in.next && in.delivered == in.next && hand_in(in, now, packet)) {
    ++in.next;
  } else {
    const std::uint32_t ahead = seq - in.delivered;
    if (keeps_order() && seq != in.next) return false;
    if (ahead >= Reorder::kMost || !in.reorder.keep(seq, ahead, 0, packet, kept_pool)) return false;
    if (seq == in.next) ++in.next;
  }
  while (in.reorder.has(in.next)) ++in.next;
  if (before(in.top, seq + 1)) in.top = seq + 1;
  if (before(in.end, in.top)) in.end = in.top;
  if (in.again_at == kNever && in.delivered != in.next) drain(in, now);
  return true;
}

// Much of it in two rows of packets, one after the other: no hiccup. All of it is deafness, which the source
// sees.
void Lanes::Inner::judge_loss(LaneIn& in, bool missed) noexcept {
  if (missed) ++in.missed, ++counters.missed;
  if (++in.took < kJudgeLoss) return;
  const std::uint32_t percent = in.missed * 100u / kJudgeLoss;
  const bool much = percent >= kMuchLoss && in.missed != kJudgeLoss;
  const bool again = much && in.lossy;
  in.lossy = much;
  in.took = in.missed = 0;
  if (!again || in.lane.closing) return;
  calling = true;
  listener.losing(in.lane.id, in.lane.members[in.member], percent);
  calling = false;
}

void Lanes::Inner::on_cast(Lane& lane, Instant now, bool by_group, std::uint32_t place,
                           const wire::DatagramView& view) noexcept {
  const wire::CastView cast = wire::view_cast(view.flags, view.body);
  if (!cast.rows.empty()) on_rows(lane, now, place, cast.rows);
  LaneIn& in = in_of(lane, place);
  note_source(in, by_group, view.flags, *cast.lane);
  if (lane.cursors[place].silent && !before(view.seq, in.next)) return;
  const bool asks = (view.flags & wire::kFlagAskAck) != 0;
  const Seq seq = view.seq;
  const bool missed = !by_group || before(seq, in.top);  // repaired, or out of order
  if (before(seq, in.next) || in.reorder.has(seq)) {
    ++counters.duplicates;
    if (!by_group || asks) owe_ack(in, now);  // it may not know that we have it
  } else if (before(seq, in.limit) && accept(in, now, seq, cast.packet)) {
    ++counters.heard;
    in.newest = seq;
    in.newest_at = now;
    in.small = cast.packet.size() <= kSmallPacket;
    ++in.unacked;
    owe_ack(in, now);
    judge_loss(in, missed);
  }
  // What is out of order was not taken, but tells of a hole.
  if (config.mode == LaneMode::push_pull && before(in.end, seq + 1) && seq - in.next < window)
    in.end = seq + 1;
  if (asks && answers(in, by_group)) ack_at_once(in, !by_group);
  find_holes(in, now);
  rearm(in);
}

void Lanes::Inner::on_ask(Lane& lane, Instant now, bool by_group, std::uint32_t place,
                          const wire::DatagramView& view) noexcept {
  LaneIn& in = in_of(lane, place);
  note_source(in, by_group, view.flags, wire::part_at<wire::LanePart>(view.body));
  if (before(in.end, view.seq) && view.seq - in.next <= Reorder::kMost) in.end = view.seq;
  if ((view.flags & wire::kFlagAskAck) != 0 && answers(in, by_group)) ack_at_once(in, !by_group);
  find_holes(in, now);
  // It left after whatever was sent to repair what we asked for a round trip ago.
  if (in.renak_at != kNever && now - in.naked_at >= base_of(in))
    in.renak_at = std::min(in.renak_at, now + grace(in));
  rearm(in);
}

// A hole may be nothing but packets out of order; and others may ask for the same, so that it is repaired for
// all of us: the more we are, the longer we wait.
Duration Lanes::Inner::grace(const LaneIn& in) noexcept {
  const std::int64_t base = base_of(in).ns;
  const auto others = static_cast<std::int64_t>(in.lane.members.size());
  const std::int64_t spread = base / 8 + base * others / 64;
  const std::int64_t least = std::max(kLeastGrace.ns, base / 16);
  return {least + static_cast<std::int64_t>(prng.below(
                      static_cast<std::uint64_t>(std::max<std::int64_t>(1, std::min(spread, 2 * base)))))};
}

void Lanes::Inner::find_holes(LaneIn& in, Instant now) noexcept {
  if (config.mode == LaneMode::simple) return;  // the source finds out
  if (in.next == in.end) {
    if (in.grace_at != kNever) ++counters.naks_spared;
    in.grace_at = in.renak_at = kNever;
    in.naked_end = in.armed_end = in.next;
    in.nak_from = in.nak_to = in.next;
    in.renaks = 0;
    return;
  }
  if (before(in.naked_end, in.next)) in.naked_end = in.next;
  if (in.grace_at != kNever && !before(in.next, in.armed_end)) {  // those have come
    in.grace_at = kNever;
    ++counters.naks_spared;
  }
  if (in.renak_at != kNever && !before(in.next, in.naked_end)) {
    in.renak_at = kNever;
    in.renaks = 0;
  }
  if (in.grace_at != kNever || !before(in.naked_end, in.end)) return;
  // Are there any between what was asked for and the end?
  Seq seq = in.naked_end;
  while (seq != in.end && in.reorder.has(seq)) ++seq;
  if (seq == in.end) return;
  in.armed_end = in.end;
  in.grace_at = now + grace(in);
}

}  // namespace herald::rel
