// SPDX-License-Identifier: BSD-3-Clause
// rel/fused_transmit.cpp: what leaves of fused exchanges.
#include <algorithm>
#include <cstring>

#include "rel/fused_exchange.hpp"
#include "rel/lane_inner.hpp"
#include "wire/compact.hpp"

namespace herald::rel {
namespace {

constexpr std::size_t kHead = sizeof(wire::DatagramHead);

}  // namespace

// The whole report: the lane may not be open there yet, or not any more.
std::span<std::byte> Lanes::Inner::write_report(const FusedExchange& fused, FusedExchange::Report& one,
                                                std::uint8_t flags) const noexcept {
  wire::ReportPart part;
  part.name = fused.lane.name;
  part.behind = static_cast<std::uint8_t>(one.number - fused.have);  // less than kAtOnce
  const std::span<std::byte> all = one.datagram;
  wire::write_head(all.data(), wire::DatagramKind::report, flags, config.seal, config.me, one.number);
  std::memcpy(all.data() + kHead, &part, sizeof part);
  wire::seal(config.seal, static_cast<std::uint32_t>(fused.lane.members.front()),
             wire::crc32c(all.subspan(kHead)), all.first(kHead));
  return all;
}

std::span<std::byte> Lanes::Inner::write_compact(const FusedExchange& fused, FusedExchange::Report& one,
                                                 std::uint8_t flags) const noexcept {
  constexpr std::size_t kUnused = kHead + sizeof(wire::ReportPart) - sizeof(wire::CompactHead);
  const std::span<std::byte> all = std::span<std::byte>(one.datagram).subspan(kUnused);
  const auto to = static_cast<std::uint32_t>(fused.lane.members.front());
  static_assert(kMaxFusedMembers <= wire::kMostCompactPlace + 1);
  const auto place = static_cast<std::uint8_t>(fused.lane.me);
  wire::write_compact(config.seal, to, fused.lane.name, {flags, fused.known_as, place, one.number}, all);
  return all;
}

void Lanes::Inner::emit_report(FusedExchange& fused, Instant now, FusedExchange::Report& one,
                               TxBatch& out) noexcept {
  Lane& lane = fused.lane;
  const auto flags = static_cast<std::uint8_t>((one.tries != 0 ? wire::kFlagAskAck : 0) |
                                               (fused.heard ? wire::kFlagHeard : 0) | move_flags(lane));
  const bool compact = one.tries == 0 && fused.known_as != 0 && one.number == fused.have;
  const std::span<std::byte> all =
      compact ? write_compact(fused, one, flags) : write_report(fused, one, flags);
  out.entries[out.count++] = {lane.members.front(), 0, all};
  if (one.tries != 0)
    ++counters.fused_resent;
  else
    one.again_at = now + patience(fused);
  if (one.tries < 255) ++one.tries;
  one.due = false;
  one.sent_at = now;
  fused.heard = false;
  fused.told_have = fused.have;
  fused.ack_at = kNever;
  fused.ack_now = false;
  arm_fused(fused, one.again_at);
}

bool Lanes::Inner::fill_reports(FusedExchange& fused, Instant now, TxBatch& out) noexcept {
  Lane& lane = fused.lane;
  for (FusedExchange::Report& one : fused.reports) {
    if (!one.due) continue;
    if (out.full()) return true;
    emit_report(fused, now, one, out);
  }
  if (!fused.ack_now) return false;
  if (out.full()) return true;
  wire::ReportPart part;
  part.name = lane.name;
  part.behind = 0;
  const PeerId to = lane.members.front();
  const auto flags =
      static_cast<std::uint8_t>(wire::kFlagNoPart | (fused.heard ? wire::kFlagHeard : 0) | move_flags(lane));
  emit_short(to, static_cast<std::uint32_t>(to), wire::DatagramKind::report, flags, fused.have,
             {reinterpret_cast<const std::byte*>(&part), sizeof part}, out);
  ++counters.acks_sent;
  fused.heard = fused.ack_now = false;
  fused.told_have = fused.have;
  fused.ack_at = kNever;
  return false;
}

// To one member: a datagram of its own, because the seal is another one.
void Lanes::Inner::emit_result(FusedExchange& fused, const FusedExchange::Slot& slot, std::uint32_t place,
                               TxBatch& out) noexcept {
  Lane& lane = fused.lane;
  std::vector<std::byte>& copy = fused.copies.emplace_back(slot.datagram);
  const PeerId to = lane.members[place];
  wire::write_head(copy.data(), wire::DatagramKind::result_of_all, wire::kFlagAskAck | move_flags(lane),
                   config.seal, config.me, slot.number);
  const std::span<std::byte> all = copy;
  wire::seal(config.seal, static_cast<std::uint32_t>(to), wire::crc32c(all.subspan(kHead)), all.first(kHead));
  out.entries[out.count++] = {to, 0, all};
}

void Lanes::Inner::emit_to_group(Lane& lane, Instant now, FusedExchange::Slot& slot, std::uint8_t flags,
                                 TxBatch& out) noexcept {
  const std::span<std::byte> all = slot.datagram;
  wire::write_head(all.data(), wire::DatagramKind::result_of_all,
                   static_cast<std::uint8_t>(flags | move_flags(lane)), config.seal, config.me, slot.number);
  wire::seal(config.seal, wire::group_seal(lane.name), wire::crc32c(all.subspan(kHead)), all.first(kHead));
  out.entries[out.count++] = {-1 - lane.id, 0, all};
  note_group(lane, now);
}

// To the group, if somebody hears it, and to those who do not, one by one. True: there is no room for all.
bool Lanes::Inner::fill_result(FusedExchange& fused, Instant now, FusedExchange::Slot& slot,
                               TxBatch& out) noexcept {
  Lane& lane = fused.lane;
  if (TxBatch::kMost - out.count < lane.members.size()) return true;
  slot.due = false;
  if (lane.listening != 0) {
    emit_to_group(lane, now, slot, 0, out);
  } else {
    try_group(lane, now);
    if (lane.group_ask) wake(lane);
  }
  if (lane.listening == lane.living) return false;
  for (std::uint32_t place = 1; place < lane.cursors.size(); ++place)
    if (lane.cursors[place].hearing == Hearing::deaf) emit_result(fused, slot, place, out);
  return false;
}

// The the result before the oldest that are not told, as a question. Where there were none, nobody sleeps.
bool Lanes::Inner::fill_reminder(FusedExchange& fused, Instant now, TxBatch& out) noexcept {
  Lane& lane = fused.lane;
  if (out.full()) return true;
  fused.remind = false;
  FusedExchange::Slot& slot = fused.slot_of(fused.untold - 1);
  if (slot.number != fused.untold - 1 || slot.datagram.empty() || slot.due || lane.listening == 0)
    return false;
  emit_to_group(lane, now, slot, wire::kFlagAskAck, out);
  ++counters.fused_resent;
  return false;
}

bool Lanes::Inner::fill_owed(FusedExchange& fused, TxBatch& out) noexcept {
  Lane& lane = fused.lane;
  for (std::uint32_t place = 1; place < fused.owed.size(); ++place) {
    FusedExchange::Owed& owed = fused.owed[place];
    if (!owed.tell && !owed.note) continue;
    if (TxBatch::kMost - out.count <= FusedExchange::kKnown) return true;
    for (const FusedExchange::Slot& slot : fused.slots) {
      if (!owed.tell || slot.state != FusedExchange::Slot::State::told || before(slot.number, owed.have) ||
          before(owed.again, slot.number))
        continue;
      emit_result(fused, slot, place, out);
      ++counters.fused_resent;
    }
    if (owed.note) {
      wire::LanePart part;
      part.name = lane.name;
      const PeerId to = lane.members[place];
      emit_short(to, static_cast<std::uint32_t>(to), wire::DatagramKind::acked, move_flags(lane), owed.acked,
                 {reinterpret_cast<const std::byte*>(&part), sizeof part}, out);
      ++counters.fused_resent;
    }
    owed.tell = owed.note = false;
  }
  fused.some_owed = false;
  return false;
}

bool Lanes::Inner::fill_fused(FusedExchange& fused, Instant now, TxBatch& out) noexcept {
  fused.copies.clear();
  bool more = false;
  if (fused.lane.me != 0) {
    more = fill_reports(fused, now, out);
  } else {
    for (FusedExchange::Slot& slot : fused.slots)
      if (slot.due) more = fill_result(fused, now, slot, out) || more;
    if (fused.some_owed) more = fill_owed(fused, out) || more;
    if (fused.remind) more = fill_reminder(fused, now, out) || more;
  }
  return more;
}

}  // namespace herald::rel
