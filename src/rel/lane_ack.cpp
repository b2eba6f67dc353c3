// SPDX-License-Identifier: BSD-3-Clause
// rel/lane_ack.cpp: what a source is told: acks, amortised over packets, sent up a tree in a large lane; and
// which packets are missing.
#include <algorithm>
#include <cstring>

#include "rel/lane_inner.hpp"

namespace herald::rel {

// Credit: what the listener has not taken yet must fit into what we keep, for all sources together.
void Lanes::Inner::grant(LaneIn& in) noexcept {
  const std::uint64_t slots = config.kept_bytes / kept_pool.slot_bytes();
  const auto share =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(slots / std::max(1u, sources), granted));
  const Seq limit = in.delivered + std::max(share, kLeastWindow);
  if (before(in.limit, limit)) in.limit = limit;
}

// Packets came that are not acknowledged: one ack for many, or after a while without more.
void Lanes::Inner::owe_ack(LaneIn& in, Instant now) noexcept {
  // The second: a hole is filled that may have held up the source.
  const std::uint32_t many = std::max(1u, granted / 4);
  if (in.unacked >= many || in.next - in.told >= many) {
    if (!in.waited) ack_at_once(in, false);
    return;
  }
  const std::int64_t rtt = std::clamp(rtt_of(in), kLeastAckDelay, kMostAckDelay).ns;
  if (in.unacked_since == kNever) in.unacked_since = now;
  const std::int64_t wait = in.rides ? 2 * rtt : rtt;
  const auto jitter = static_cast<std::int64_t>(prng.below(static_cast<std::uint64_t>(rtt / 2 + 1)));
  const Instant quiet = now + Duration{wait + jitter};
  in.ack_due =
      std::min(quiet, in.unacked_since + longest_hold(Duration{rtt}, uses_tree(in) ? 6 : 3, in.small));
}

void Lanes::Inner::ack_at_once(LaneIn& in, bool to_source) noexcept {
  in.ack_now = true;
  in.answer = in.answer || to_source;
  wake(in);
}

void Lanes::Inner::acked(LaneIn& in) noexcept {
  in.unacked = 0;
  in.told = in.next;
  in.unacked_since = in.ack_due = in.tree_due = kNever;
  in.ack_now = in.answer = in.heard = in.rides = in.waited = false;
  in.deferral.end();
  in.refused = in.delivered != in.next;  // then the source is to hear of it when we have taken them
}

// What all below us in the tree have, ourselves included.
LaneIn::Below Lanes::Inner::all_below(const LaneIn& in) const noexcept {
  LaneIn::Below all{in.next, in.limit};
  if (in.below == nullptr) return all;
  const std::uint32_t children = tree_of(in.lane, in.member).children(in.lane.me);
  for (std::uint32_t i = 0; i < children; ++i) {
    if (before(in.below[i].next, all.next)) all.next = in.below[i].next;
    if (before(in.below[i].limit, all.limit)) all.limit = in.below[i].limit;
  }
  return all;
}

void Lanes::Inner::on_child_ack(Lane& lane, Instant now, std::uint32_t place,
                                const wire::DatagramView& view) noexcept {
  const auto& ack = wire::part_at<wire::CastAck>(view.body);
  const std::int32_t source = lane.place_of(ack.source);
  if (!lane.tree || source < 0 || source == lane.me || source == static_cast<std::int32_t>(place)) return;
  const LaneTree tree = tree_of(lane, static_cast<std::uint32_t>(source));
  if (tree.spot(place) == 0 || tree.parent(place) != lane.me) return;
  LaneIn& in = in_of(lane, static_cast<std::uint32_t>(source));
  LaneIn::Below& below = in.below[tree.branch(place)];
  if (before(below.next, ack.all_next)) below.next = ack.all_next;
  if (before(below.limit, ack.all_credit)) below.limit = ack.all_credit;
  const LaneIn::Below all = all_below(in);
  if (!before(in.all_told, all.next)) return;
  if (all.next == in.next || (in.waited && !before(all.next, in.goal))) {
    ack_at_once(in, false);  // all below us have what we wanted to tell of
  } else {
    in.tree_due = std::min(in.tree_due, now + base_of(in));
  }
  rearm(in);
}

void Lanes::Inner::emit_ack(LaneIn& in, Instant now, TxBatch& out) noexcept {
  const bool tree = uses_tree(in) && !in.answer;
  grant(in);
  const LaneIn::Below all = uses_tree(in) ? all_below(in) : LaneIn::Below{kFirstCast, kFirstCast};
  const PeerId source = in.lane.members[in.member];
  wire::CastAck ack;
  ack.name = in.lane.name;
  ack.source = static_cast<std::uint32_t>(source);
  ack.credit = in.limit;
  std::uint64_t holes = 0;
  for (std::uint32_t i = 0; i < Cursor::kReach && before(in.next + 1 + i, in.top); ++i)
    if (in.reorder.has(in.next + 1 + i)) holes |= 1ull << i;
  ack.holes = holes;
  ack.newest = in.newest;
  ack.delay_us =
      static_cast<std::uint32_t>(std::clamp<std::int64_t>((now - in.newest_at).ns / 1000, 0, UINT32_MAX));
  ack.all_next = all.next;
  ack.all_credit = all.limit;
  const PeerId to = tree ? in.lane.members[tree_of(in.lane, in.member).parent(in.lane.me)] : source;
  emit_short(to, static_cast<std::uint32_t>(to), wire::DatagramKind::cast_ack,
             static_cast<std::uint8_t>((in.heard ? wire::kFlagHeard : 0) | move_flags(in.lane)), in.next,
             {reinterpret_cast<const std::byte*>(&ack), sizeof ack}, out);
  if (tree) in.all_told = all.next;
  ++counters.acks_sent;
  acked(in);
}

// Asks for the holes in [nak_from, nak_to), as many as one datagram names.
void Lanes::Inner::emit_nak(LaneIn& in, Instant now, TxBatch& out) noexcept {
  struct {
    wire::CastNak nak;
    wire::NakRange ranges[wire::kMostNakRanges];
  } body;
  std::size_t count = 0;
  Seq seq = before(in.nak_from, in.next) ? in.next : in.nak_from;
  while (before(seq, in.nak_to) && count < wire::kMostNakRanges) {
    if (in.reorder.has(seq)) {
      ++seq;
      continue;
    }
    const Seq first = seq;
    while (before(seq, in.nak_to) && !in.reorder.has(seq)) ++seq;
    body.ranges[count].first = static_cast<std::uint16_t>(first - in.next);
    body.ranges[count].count = static_cast<std::uint16_t>(seq - first);
    ++count;
  }
  in.nak_from = seq;
  if (!before(seq, in.nak_to)) in.nak_to = in.nak_from;
  if (count == 0) return;
  const PeerId source = in.lane.members[in.member];
  body.nak.name = in.lane.name;
  body.nak.source = static_cast<std::uint32_t>(source);
  body.nak.end = in.top;
  emit_short(source, static_cast<std::uint32_t>(source), wire::DatagramKind::cast_nak,
             static_cast<std::uint8_t>((in.heard ? wire::kFlagHeard : 0) | move_flags(in.lane)), in.next,
             {reinterpret_cast<const std::byte*>(&body), sizeof body.nak + count * sizeof(wire::NakRange)},
             out);
  ++counters.naks_sent;
  in.naked_at = now;
}

}  // namespace herald::rel
