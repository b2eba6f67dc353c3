// SPDX-License-Identifier: BSD-3-Clause
#include "rel/lane_transmitter.hpp"

#include <algorithm>

namespace herald::rel {
namespace {

constexpr std::uint32_t kBurst = 4;  // packets whose end is shown at once

}  // namespace

wire::LanePart lane_part(const LaneInfo& info, const Audience& audience) noexcept {
  const auto us = [](Duration d) {
    return static_cast<std::uint16_t>(std::clamp<std::int64_t>((d.ns + 999) / 1000, 0, UINT16_MAX));
  };
  wire::LanePart part;
  part.name = info.name;
  part.rtt_us = us(audience.timing().rtt);
  part.base_us = us(audience.timing().base);
  return part;
}

// False: this packet is in the batch already, for another receiver; its head cannot be both.
bool LaneTransmitter::emit_cast(Instant now, Seq seq, std::int32_t place, bool ask, TxBatch& out) noexcept {
  Entry& entry = stream_.log[seq];
  std::byte* const at = context_.log_pool.at(entry.slot);
  if (entry.sent_at == now)
    for (std::size_t i = 0; i < out.count; ++i)
      if (out.entries[i].datagram.data() == at) return false;
  std::uint8_t flags = entry.flags | info_.address_flags();
  if (ask) flags |= wire::kFlagAskAck;
  if (audience_.has_lost_members()) flags |= wire::kFlagDirect;
  const Destination to = info_.to_place(place);
  wire::write_head(at, wire::DatagramKind::cast, flags, context_.config.seal, context_.config.me, seq);
  unsealed_.add(context_.config.seal, at, to.seal, entry.body_crc,
                upper_half(info_.numbers.cast(info_.me, seq)));
  const std::size_t bytes = sizeof(wire::DatagramHead) + entry.body_bytes;
  if (bytes > context_.datagram_bytes()) unsealed_.flush();  // a datagram is split as it leaves
  context_.push(to, {at, bytes}, out);
  entry.sent_at = now;
  entry.state = EntryState::in_flight;
  if (entry.transmissions < 255) ++entry.transmissions;
  if (place == kAllMembers) audience_.note_multicast(now);
  if (ask) since_ask_ = 0;
  return true;
}

void LaneTransmitter::emit_ask(Instant now, std::int32_t place, bool answer, TxBatch& out) noexcept {
  const unsigned flags = (answer ? wire::kFlagAskAck : 0u) |
                         (audience_.has_lost_members() ? wire::kFlagDirect : 0u) | info_.address_flags();
  context_.emit(info_.to_place(place), wire::DatagramKind::cast_ask, flags,
                info_.numbers.cast(info_.me, stream_.next_tx), lane_part(info_, audience_), out);
  if (place == kAllMembers) {
    audience_.note_multicast(now);
  } else {
    audience_[static_cast<std::uint32_t>(place)].asked = true;
  }
}

bool LaneTransmitter::fill_repairs(Instant now, TxBatch& out) noexcept {
  while (PendingRepair* const repair = repair_.next_due(now)) {
    if (out.full()) return true;
    const bool group = repair->member == kAllMembers;
    if (group && audience_.multicast_members() == 0) {  // all members get unicast now
      repair_.drop(*repair);
      continue;
    }
    if (!emit_cast(now, repair->seq, repair->member, false, out)) return true;
    repair_.on_sent(*repair, now);
    ++(group ? context_.counters.repaired_multicast : context_.counters.repaired_unicast);
    if (stream_.has_unsent() || stream_.refused) continue;
    // No packet follows that would show the loss of the repair: a question does.
    if (group) {
      ask_group(false);
    } else {
      ask(audience_[static_cast<std::uint32_t>(repair->member)]);
    }
  }
  return false;
}

bool LaneTransmitter::probe_group(Instant now) noexcept {
  if (audience_.is_group_probe_due(now)) group_ask_ = true;
  return group_ask_;
}

bool LaneTransmitter::fill_casts(Instant now, TxBatch& out) noexcept {
  const std::uint32_t pipe = pipe_.packets(info_, audience_);
  const bool multicast = audience_.multicast_members() != 0;
  if (!stream_.has_unsent() || (multicast && stream_.next_tx - stream_.seen >= pipe)) return false;
  if (!go_back_n_.may_cast()) return false;
  if (!stream_.is_outstanding()) stream_.oldest_at = now;
  if (!held_ && now - stream_.last_tx > Duration{audience_.base().ns / 4}) burst_ = 0;
  stream_.last_tx = now;
  notice_at_ = kNever;
  if (!multicast) {
    stream_.next_tx = stream_.log.end();
    probe_group(now);
    return false;
  }
  audience_.restart_group_probes();
  while (stream_.has_unsent() && stream_.next_tx - stream_.seen < pipe) {
    if (out.full()) return true;
    if (!go_back_n_.may_cast()) break;
    const Seq seq = stream_.next_tx;
    const bool last = seq + 1 == stream_.log.end();
    const bool filled = seq + 1 - stream_.seen >= pipe / 2;
    const bool full = seq + 1 - stream_.seen >= pipe;
    const bool ask = go_back_n_.is_push(seq) || (last && stream_.refused) ||
                     (filled && since_ask_ >= pipe / (full ? 8 : 4));
    ++since_ask_;
    ++burst_;
    emit_cast(now, seq, kAllMembers, ask, out);
    stream_.rate.on_sent(now, seq, stream_.log[seq].body_bytes);
    stream_.small = stream_.log[seq].body_bytes <= 2 * kSmallPacket;  // acks may ride on it
    ++stream_.next_tx;
  }
  held_ = stream_.has_unsent();
  if (!held_ && burst_ >= kBurst && !stream_.refused) notice_at_ = now + Duration{audience_.base().ns / 4};
  return false;
}

// False: the batch is full.
bool LaneTransmitter::fill_unicast_to(Instant now, std::uint32_t place, TxBatch& out, bool& more) noexcept {
  LaneMember& member = audience_[place];
  const std::uint32_t pipe = pipe_.packets(info_, audience_);
  const Seq end = member.is_unicast() ? stream_.next_tx : member.go_back_end();
  while (before(member.unicast_next, end) && member.unicast_next - member.cursor.next < pipe) {
    if (member.cursor.has(member.unicast_next)) {
      ++member.unicast_next;
      continue;
    }
    if (out.full()) return false;
    const bool last = member.unicast_next + 1 == end;
    const bool ask = member.unicast_burst >= pipe / 4 ||
                     (last && (member.unicast_burst >= kBurst || stream_.refused || member.going_back));
    if (!emit_cast(now, member.unicast_next, static_cast<std::int32_t>(place), ask, out)) {
      more = true;
      break;
    }
    member.unicast_burst =
        ask ? std::uint8_t{0} : static_cast<std::uint8_t>(std::min(member.unicast_burst + 1, 255));
    ++member.unicast_next;
    ++context_.counters.repaired_unicast;
    stream_.last_tx = now;
  }
  return true;
}

// Members that receive no multicast get the same log by unicast, each at its own pace.
bool LaneTransmitter::fill_unicast(Instant now, TxBatch& out) noexcept {
  if (!audience_.needs_unicast() && !go_back_n_.is_active()) return false;
  bool more = false;
  for (std::uint32_t i = 0; i < audience_.size(); ++i) {
    const std::uint32_t place = (next_unicast_ + i) % audience_.size();
    const LaneMember& member = audience_[place];
    if (member.is_gone() || (!member.is_unicast() && !member.going_back)) continue;
    if (fill_unicast_to(now, place, out, more)) continue;
    next_unicast_ = place;
    return true;
  }
  return more;
}

bool LaneTransmitter::fill_asks(Instant now, TxBatch& out) noexcept {
  if (group_ask_) {
    if (out.full()) return true;
    emit_ask(now, kAllMembers, group_answer_, out);
    group_ask_ = group_answer_ = false;
  }
  if (!some_asks_) return false;
  for (std::uint32_t i = 0; i < audience_.size(); ++i) {
    if (!audience_[i].ask_due) continue;
    if (out.full()) return true;
    audience_[i].ask_due = false;
    emit_ask(now, static_cast<std::int32_t>(i), true, out);
  }
  some_asks_ = false;
  return false;
}

bool LaneTransmitter::fill(Instant now, TxBatch& out) noexcept {
  bool more = fill_repairs(now, out);
  more = fill_casts(now, out) || more;
  more = fill_unicast(now, out) || more;
  unsealed_.flush();
  return fill_asks(now, out) || more;
}

void LaneTransmitter::on_notice() noexcept {
  notice_at_ = kNever;
  ask_group(burst_ >= context_.window / 4);
  burst_ = 0;
}

}  // namespace herald::rel
