// SPDX-License-Identifier: BSD-3-Clause
// rel/muster_transmit.cpp: what leaves of musters.
#include <algorithm>
#include <cstring>

#include "rel/lane_inner.hpp"
#include "rel/muster.hpp"
#include "wire/brief.hpp"

namespace herald::rel {
namespace {

constexpr std::size_t kHead = sizeof(wire::DatagramHead);

}  // namespace

// The whole report: the lane may not be open there yet, or not any more.
std::span<std::byte> Lanes::Inner::write_report(const Muster& muster, Muster::Report& one,
                                                std::uint8_t flags) const noexcept {
  wire::ReportPart part;
  part.name = muster.lane.name;
  part.behind = static_cast<std::uint8_t>(one.number - muster.have);  // less than kAtOnce
  const std::span<std::byte> all = one.datagram;
  wire::write_head(all.data(), wire::DatagramKind::report, flags, config.seal, config.me, one.number);
  std::memcpy(all.data() + kHead, &part, sizeof part);
  wire::seal(config.seal, static_cast<std::uint32_t>(muster.lane.members.front()),
             wire::crc32c(all.subspan(kHead)), all.first(kHead));
  return all;
}

std::span<std::byte> Lanes::Inner::write_brief(const Muster& muster, Muster::Report& one,
                                               std::uint8_t flags) const noexcept {
  constexpr std::size_t kUnused = kHead + sizeof(wire::ReportPart) - sizeof(wire::BriefHead);
  const std::span<std::byte> all = std::span<std::byte>(one.datagram).subspan(kUnused);
  const auto to = static_cast<std::uint32_t>(muster.lane.members.front());
  static_assert(kMostMustered <= wire::kMostBriefPlace + 1);
  const auto place = static_cast<std::uint8_t>(muster.lane.me);
  wire::write_brief(config.seal, to, muster.lane.name, {flags, muster.known_as, place, one.number}, all);
  return all;
}

void Lanes::Inner::emit_report(Muster& muster, Instant now, Muster::Report& one, TxBatch& out) noexcept {
  Lane& lane = muster.lane;
  const auto flags = static_cast<std::uint8_t>((one.tries != 0 ? wire::kFlagAskAck : 0) |
                                               (muster.heard ? wire::kFlagHeard : 0) | move_flags(lane));
  const bool brief = one.tries == 0 && muster.known_as != 0 && one.number == muster.have;
  const std::span<std::byte> all = brief ? write_brief(muster, one, flags) : write_report(muster, one, flags);
  out.entries[out.count++] = {lane.members.front(), 0, all};
  if (one.tries != 0)
    ++counters.mustered_again;
  else
    one.again_at = now + patience(muster);
  if (one.tries < 255) ++one.tries;
  one.due = false;
  one.sent_at = now;
  muster.heard = false;
  muster.told_have = muster.have;
  muster.ack_at = kNever;
  muster.ack_now = false;
  arm_muster(muster, one.again_at);
}

bool Lanes::Inner::fill_reports(Muster& muster, Instant now, TxBatch& out) noexcept {
  Lane& lane = muster.lane;
  for (Muster::Report& one : muster.reports) {
    if (!one.due) continue;
    if (out.full()) return true;
    emit_report(muster, now, one, out);
  }
  if (!muster.ack_now) return false;
  if (out.full()) return true;
  wire::ReportPart part;
  part.name = lane.name;
  part.behind = 0;
  const PeerId to = lane.members.front();
  const auto flags =
      static_cast<std::uint8_t>(wire::kFlagNoPart | (muster.heard ? wire::kFlagHeard : 0) | move_flags(lane));
  emit_short(to, static_cast<std::uint32_t>(to), wire::DatagramKind::report, flags, muster.have,
             {reinterpret_cast<const std::byte*>(&part), sizeof part}, out);
  ++counters.acks_sent;
  muster.heard = muster.ack_now = false;
  muster.told_have = muster.have;
  muster.ack_at = kNever;
  return false;
}

// To one member: a datagram of its own, because the seal is another one.
void Lanes::Inner::emit_tidings(Muster& muster, const Muster::Slot& slot, std::uint32_t place,
                                TxBatch& out) noexcept {
  Lane& lane = muster.lane;
  std::vector<std::byte>& copy = muster.copies.emplace_back(slot.datagram);
  const PeerId to = lane.members[place];
  wire::write_head(copy.data(), wire::DatagramKind::tidings, wire::kFlagAskAck | move_flags(lane),
                   config.seal, config.me, slot.number);
  const std::span<std::byte> all = copy;
  wire::seal(config.seal, static_cast<std::uint32_t>(to), wire::crc32c(all.subspan(kHead)), all.first(kHead));
  out.entries[out.count++] = {to, 0, all};
}

void Lanes::Inner::emit_to_group(Lane& lane, Instant now, Muster::Slot& slot, std::uint8_t flags,
                                 TxBatch& out) noexcept {
  const std::span<std::byte> all = slot.datagram;
  wire::write_head(all.data(), wire::DatagramKind::tidings,
                   static_cast<std::uint8_t>(flags | move_flags(lane)), config.seal, config.me, slot.number);
  wire::seal(config.seal, wire::group_seal(lane.name), wire::crc32c(all.subspan(kHead)), all.first(kHead));
  out.entries[out.count++] = {-1 - lane.id, 0, all};
  note_group(lane, now);
}

// To the group, if somebody hears it, and to those who do not, one by one. True: there is no room for all.
bool Lanes::Inner::fill_tidings(Muster& muster, Instant now, Muster::Slot& slot, TxBatch& out) noexcept {
  Lane& lane = muster.lane;
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
    if (lane.cursors[place].hearing == Hearing::deaf) emit_tidings(muster, slot, place, out);
  return false;
}

// The tidings before the oldest that are not told, as a question. Where there were none, nobody sleeps.
bool Lanes::Inner::fill_reminder(Muster& muster, Instant now, TxBatch& out) noexcept {
  Lane& lane = muster.lane;
  if (out.full()) return true;
  muster.remind = false;
  Muster::Slot& slot = muster.slot_of(muster.untold - 1);
  if (slot.number != muster.untold - 1 || slot.datagram.empty() || slot.due || lane.listening == 0)
    return false;
  emit_to_group(lane, now, slot, wire::kFlagAskAck, out);
  ++counters.mustered_again;
  return false;
}

bool Lanes::Inner::fill_owed(Muster& muster, TxBatch& out) noexcept {
  Lane& lane = muster.lane;
  for (std::uint32_t place = 1; place < muster.owed.size(); ++place) {
    Muster::Owed& owed = muster.owed[place];
    if (!owed.tell && !owed.note) continue;
    if (TxBatch::kMost - out.count <= Muster::kKnown) return true;
    for (const Muster::Slot& slot : muster.slots) {
      if (!owed.tell || slot.state != Muster::Slot::State::told || before(slot.number, owed.have) ||
          before(owed.again, slot.number))
        continue;
      emit_tidings(muster, slot, place, out);
      ++counters.mustered_again;
    }
    if (owed.note) {
      wire::LanePart part;
      part.name = lane.name;
      const PeerId to = lane.members[place];
      emit_short(to, static_cast<std::uint32_t>(to), wire::DatagramKind::noted, move_flags(lane), owed.noted,
                 {reinterpret_cast<const std::byte*>(&part), sizeof part}, out);
      ++counters.mustered_again;
    }
    owed.tell = owed.note = false;
  }
  muster.some_owed = false;
  return false;
}

bool Lanes::Inner::fill_muster(Muster& muster, Instant now, TxBatch& out) noexcept {
  muster.copies.clear();
  bool more = false;
  if (muster.lane.me != 0) {
    more = fill_reports(muster, now, out);
  } else {
    for (Muster::Slot& slot : muster.slots)
      if (slot.due) more = fill_tidings(muster, now, slot, out) || more;
    if (muster.some_owed) more = fill_owed(muster, out) || more;
    if (muster.remind) more = fill_reminder(muster, now, out) || more;
  }
  return more;
}

}  // namespace herald::rel
