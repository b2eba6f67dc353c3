// SPDX-License-Identifier: BSD-3-Clause
// rel/lane_transmit.cpp: what leaves: repairs, packets for the group, packets for members that do not hear
// it, questions, acks and NAKs.
#include <algorithm>
#include <cstring>

#include "rel/lane_inner.hpp"

namespace herald::rel {
namespace {

constexpr std::size_t kHead = sizeof(wire::DatagramHead);

constexpr std::uint32_t kBurst = 4;  // packets whose end is shown at once
constexpr Duration kMostRetry = milliseconds(1000);

constexpr std::int32_t group_of(LaneId lane) noexcept { return -1 - lane; }

}  // namespace

void Lanes::Inner::emit_short(std::int32_t to, std::uint32_t seal_for, wire::DatagramKind kind,
                              std::uint8_t flags, Seq seq, std::span<const std::byte> body,
                              TxBatch& out) noexcept {
  auto& room = out.shorts[out.count];
  static_assert(kHead + sizeof(wire::CastAck) <= TxBatch::kShort);
  static_assert(kHead + sizeof(wire::CastNak) + wire::kMostNakRanges * sizeof(wire::NakRange) <=
                TxBatch::kShort);
  wire::write_head(room.data(), kind, flags, config.seal, config.me, seq);
  std::memcpy(room.data() + kHead, body.data(), body.size());
  wire::seal(config.seal, seal_for, wire::crc32c(body), {room.data(), kHead});
  out.entries[out.count++] = {to, 0, {room.data(), kHead + body.size()}};
}

// Remembers two multicasts that are at least a round trip apart: judge() asks whether one had time to be
// heard.
void Lanes::Inner::note_group(Lane& lane, Instant now) noexcept {
  if (now - lane.group_recent < rtt_of(lane)) return;
  lane.group_old = lane.group_recent;
  lane.group_recent = now;
}

// False: this packet is in the batch already, for somebody else; its head cannot be both.
bool Lanes::Inner::emit_cast(Lane& lane, Instant now, Seq seq, std::int32_t place, bool ask,
                             TxBatch& out) noexcept {
  Entry& entry = lane.log[seq];
  std::byte* const at = log_pool.at(entry.slot);
  if (entry.sent_at == now)
    for (std::size_t i = 0; i < out.count; ++i)
      if (out.entries[i].datagram.data() == at) return false;
  std::uint8_t flags = entry.flags | move_flags(lane);
  if (ask) flags |= wire::kFlagAskAck;
  if (lane.direct) flags |= wire::kFlagDirect;
  wire::write_head(at, wire::DatagramKind::cast, flags, config.seal, config.me, seq);
  const bool group = place == kAllMembers;
  const std::int32_t to = group ? group_of(lane.id) : lane.members[static_cast<std::size_t>(place)];
  const std::uint32_t seal_for = group ? wire::group_seal(lane.name) : static_cast<std::uint32_t>(to);
  wire::seal(config.seal, seal_for, entry.body_crc, {at, kHead});
  out.entries[out.count++] = {to, 0, {at, kHead + entry.body_bytes}};
  entry.sent_at = now;
  entry.state = EntryState::in_flight;
  if (entry.transmissions < 255) ++entry.transmissions;
  if (group) note_group(lane, now);
  if (ask) lane.since_ask = 0;
  return true;
}

void Lanes::Inner::emit_ask(Lane& lane, Instant now, std::int32_t place, bool answer, TxBatch& out) noexcept {
  const auto us = [](Duration d) {
    return static_cast<std::uint16_t>(std::clamp<std::int64_t>((d.ns + 999) / 1000, 0, UINT16_MAX));
  };
  wire::LanePart part;
  part.name = lane.name;
  part.rtt_us = us(lane.rtt);
  part.base_us = us(lane.base);
  const bool group = place == kAllMembers;
  const std::int32_t to = group ? group_of(lane.id) : lane.members[static_cast<std::size_t>(place)];
  const auto flags = static_cast<std::uint8_t>((answer ? wire::kFlagAskAck : 0) |
                                               (lane.direct ? wire::kFlagDirect : 0) | move_flags(lane));
  emit_short(to, group ? wire::group_seal(lane.name) : static_cast<std::uint32_t>(to),
             wire::DatagramKind::cast_ask, flags, lane.next_tx,
             {reinterpret_cast<const std::byte*>(&part), sizeof part}, out);
  if (group) {
    note_group(lane, now);
  } else {
    LaneMember& member = lane.cursors[static_cast<std::size_t>(place)];
    if (member.asked_since == kNever) member.asked_since = now;
  }
}

bool Lanes::Inner::fill_repairs(Lane& lane, Instant now, TxBatch& out) noexcept {
  Mend* mend = nullptr;
  while (next_repair(lane, now, mend)) {
    if (out.full()) return true;
    // Those who asked may all have become deaf since.
    const bool group = mend->member == kAllMembers && lane.listening != 0;
    if (mend->member == kAllMembers && !group) {
      mend->state = Mend::State::none;
      lane.mend_queue.pop();
      continue;
    }
    if (!emit_cast(lane, now, mend->seq, mend->member, false, out)) return true;
    lane.mend_queue.pop();
    mend->state = Mend::State::sent;
    mend->at = now;
    mend->mark = lane.next_tx;
    ++(group ? counters.repaired_all : counters.repaired_one);
    if (lane.next_tx != lane.log.end() || lane.refused) continue;
    // No packet follows from which it would be seen that the repair was lost: a question does.
    if (group) {
      lane.group_ask = true;
    } else {
      lane.cursors[static_cast<std::size_t>(mend->member)].ask_due = lane.some_asks = true;
    }
  }
  return false;
}

// Nobody hears the group: somebody may again.
void Lanes::Inner::try_group(Lane& lane, Instant now) noexcept {
  if (now < lane.retry_at) return;
  lane.retry_at = now + lane.retry_after;
  lane.retry_after = std::min(Duration{2 * lane.retry_after.ns}, kMostRetry);
  lane.group_ask = true;
  ++counters.tried;
}

bool Lanes::Inner::fill_first(Lane& lane, Instant now, TxBatch& out) noexcept {
  const std::uint32_t pipe = pipe_of(lane);
  if (lane.next_tx == lane.log.end() || (lane.listening != 0 && lane.next_tx - lane.seen >= pipe))
    return false;
  if (!may_cast(lane)) return false;
  if (lane.lowest == lane.next_tx) lane.oldest_at = now;
  if (!lane.held && now - lane.last_tx > Duration{base_of(lane).ns / 4}) lane.burst = 0;
  lane.last_tx = now;
  lane.notice_at = kNever;
  if (lane.listening == 0) {  // nobody hears the group; it is tried again now and then
    lane.next_tx = lane.log.end();
    try_group(lane, now);
    return false;
  }
  lane.retry_after = {16 * rtt_of(lane).ns};
  while (lane.next_tx != lane.log.end() && lane.next_tx - lane.seen < pipe) {
    if (out.full()) return true;
    if (!may_cast(lane)) break;
    const Seq seq = lane.next_tx;
    const bool push = lane.pushed && seq + 1 == lane.push_end;
    const bool last = seq + 1 == lane.log.end();
    const bool filled = seq + 1 - lane.seen >= pipe / 2;
    const bool full = seq + 1 - lane.seen >= pipe;
    const bool ask = push || (last && lane.refused) || (filled && lane.since_ask >= pipe / (full ? 8 : 4));
    ++lane.since_ask;
    ++lane.burst;
    emit_cast(lane, now, seq, kAllMembers, ask, out);
    lane.small = lane.log[seq].body_bytes <= 2 * kSmallPacket;  // acks may ride on it
    ++lane.next_tx;
  }
  lane.held = lane.next_tx != lane.log.end();
  if (!lane.held && lane.burst >= kBurst && !lane.refused)
    lane.notice_at = now + Duration{base_of(lane).ns / 4};
  return false;
}

// Members that do not hear the group get the same log by unicast, each at its own pace.
bool Lanes::Inner::fill_deaf(Lane& lane, Instant now, TxBatch& out) noexcept {
  if (lane.listening == lane.living && lane.behind == 0) return false;
  const auto count = static_cast<std::uint32_t>(lane.cursors.size());
  const std::uint32_t pipe = pipe_of(lane);
  bool more = false;
  for (std::uint32_t i = 0; i < count; ++i) {
    const std::uint32_t place = (lane.next_uni + i) % count;
    LaneMember& member = lane.cursors[place];
    if (member.hearing == Hearing::gone || (member.hearing != Hearing::deaf && !member.again)) continue;
    const Seq end = member.hearing == Hearing::deaf ? lane.next_tx : member.again_end();
    while (before(member.uni_next, end) && member.uni_next - member.cursor.next < pipe) {
      if (member.cursor.has(member.uni_next)) {
        ++member.uni_next;
        continue;
      }
      if (out.full()) {
        lane.next_uni = place;
        return true;
      }
      const bool last = member.uni_next + 1 == end;
      const bool ask = member.uni_burst >= pipe / 4 ||
                       (last && (member.uni_burst >= kBurst || lane.refused || member.again));
      if (!emit_cast(lane, now, member.uni_next, static_cast<std::int32_t>(place), ask, out)) {
        more = true;
        break;
      }
      member.uni_burst =
          ask ? std::uint8_t{0} : static_cast<std::uint8_t>(std::min(member.uni_burst + 1, 255));
      ++member.uni_next;
      ++counters.repaired_one;
      lane.last_tx = now;
    }
  }
  return more;
}

bool Lanes::Inner::fill_asks(Lane& lane, Instant now, TxBatch& out) noexcept {
  if (lane.group_ask) {
    if (out.full()) return true;
    emit_ask(lane, now, kAllMembers, lane.group_answer, out);
    lane.group_ask = lane.group_answer = false;
  }
  if (!lane.some_asks) return false;
  for (std::uint32_t i = 0; i < lane.cursors.size(); ++i) {
    if (!lane.cursors[i].ask_due) continue;
    if (out.full()) return true;
    lane.cursors[i].ask_due = false;
    emit_ask(lane, now, static_cast<std::int32_t>(i), true, out);
  }
  lane.some_asks = false;
  return false;
}

bool Lanes::Inner::fill_lane(Lane& lane, Instant now, TxBatch& out) noexcept {
  bool more = fill_repairs(lane, now, out);
  more = fill_first(lane, now, out) || more;
  more = fill_deaf(lane, now, out) || more;
  more = fill_asks(lane, now, out) || more;
  arm_tail(lane, now);
  return more;
}

bool Lanes::Inner::fill_in(LaneIn& in, Instant now, TxBatch& out) noexcept {
  while (in.nak_from != in.nak_to) {
    if (out.full()) return true;
    emit_nak(in, now, out);
  }
  if (!in.ack_now) return false;
  if (uses_tree(in) && !in.answer && !in.waited && all_below(in).next != in.next) {
    in.ack_now = false;  // those below us may tell us soon
    in.waited = true;
    in.goal = in.next;
    in.tree_due = now + base_of(in);
    return false;
  }
  if (out.full()) return true;
  emit_ack(in, now, out);
  return false;
}

void Lanes::Inner::fill_replies(TxBatch& out) noexcept {
  auto& replies = strays.replies();
  while (!replies.empty() && !out.full()) {
    const LaneStrays::Reply reply = replies.front();
    replies.pop();
    wire::CastAck ack;
    ack.name = reply.name;
    ack.source = static_cast<std::uint32_t>(reply.to);
    emit_short(reply.to, static_cast<std::uint32_t>(reply.to), wire::DatagramKind::cast_ack,
               reply.closed ? wire::kFlagClosed : wire::kFlagNotOpen, kFirstCast,
               {reinterpret_cast<const std::byte*>(&ack), sizeof ack}, out);
  }
}

bool Lanes::Inner::fill(LaneActor& actor, Instant now, TxBatch& out) noexcept {
  switch (actor.kind) {
    case ActorKind::source: return fill_lane(static_cast<Lane&>(actor), now, out);
    case ActorKind::receiver: return fill_in(static_cast<LaneIn&>(actor), now, out);
    case ActorKind::fused: break;
  }
  return fill_fused(static_cast<FusedExchange&>(actor), now, out);
}

}  // namespace herald::rel
