// SPDX-License-Identifier: BSD-3-Clause
// rel/fused_root.cpp: fused exchanges as the first member sees them, who gathers the parts and tells the
// result.
#include <algorithm>
#include <cstring>

#include "base/fatal.hpp"
#include "rel/fused_exchange.hpp"
#include "rel/lane_inner.hpp"

namespace herald::rel {
namespace {

constexpr std::size_t kHead = sizeof(wire::DatagramHead) + sizeof(wire::LanePart);
// Members acknowledge after a while (fused exchange.cpp); the result are repeated when that is over.
constexpr Duration kAckBy = milliseconds(4);

}  // namespace

FusedExchange::Slot* Lanes::Inner::open_slot(FusedExchange& fused, Seq number) noexcept {
  FusedExchange::Slot& slot = fused.slot_of(number);
  if (slot.number == number) return &slot;
  if (slot.state != FusedExchange::Slot::State::idle || number - fused.untold >= FusedExchange::kKnown)
    return nullptr;
  slot.number = number;
  slot.state = FusedExchange::Slot::State::gathering;
  slot.lost = std::any_of(fused.lane.cursors.begin() + 1, fused.lane.cursors.end(),
                          [](const LaneMember& one) { return one.hearing == Hearing::gone; });
  slot.wanted = false;
  slot.again_at = kNever;
  slot.count = 0;
  slot.tries = 0;
  slot.sizes.assign(fused.lane.members.size(), FusedExchange::kNotCome);
  return &slot;
}

// A member has the results of all fused exchanges before `have`.
void Lanes::Inner::confirm(FusedExchange& fused, std::uint32_t place, Seq have) noexcept {
  FusedExchange::Owed& owed = fused.owed[place];
  if (have - owed.have > FusedExchange::kKnown) return;  // old, or not true
  for (; owed.have != have; ++owed.have) {
    FusedExchange::Slot& slot = fused.slot_of(owed.have);
    const bool known = !before(slot.number, owed.have);
    if (!known || (slot.number == owed.have && slot.state == FusedExchange::Slot::State::gathering))
      break;  // not true: it was not told yet
    if (slot.number != owed.have || slot.state != FusedExchange::Slot::State::told || --slot.count != 0)
      continue;
    slot.state = FusedExchange::Slot::State::idle;
    slot.again_at = kNever;
    --fused.told;
  }
  Lane& lane = fused.lane;
  if (lane.draining && lane.log.empty() && fused.told == 0) lane.closing = some_closing = true;
}

void Lanes::Inner::on_report(Lane& lane, Instant now, std::uint32_t place,
                             const wire::DatagramView& view) noexcept {
  if (lane.me != 0 || lane.members.size() > kMaxFusedMembers) return;
  LaneMember& member = lane.cursors[place];
  if (member.hearing == Hearing::gone || (lane.draining && lane.fused == nullptr)) return;
  FusedExchange& fused = fused_of(lane);
  fused.deferral.end();
  const bool heard = (view.flags & wire::kFlagHeard) != 0;
  if (!heard || member.hearing != Hearing::hears || member.misses != 0) judge(lane, now, place, heard);
  const wire::ReportView report = wire::view_report(view.kind, view.body);
  confirm(fused, place, view.seq - report.behind);
  if ((view.flags & wire::kFlagNoPart) == 0) take_part(fused, now, place, view, report.part);
}

void Lanes::Inner::take_part(FusedExchange& fused, Instant now, std::uint32_t place,
                             const wire::DatagramView& view, std::span<const std::byte> part) noexcept {
  FusedExchange::Owed& owed = fused.owed[place];
  if (part.size() > kMostPart || view.seq - owed.have >= FusedExchange::kAtOnce) return;
  FusedExchange::Slot* const slot = open_slot(fused, view.seq);
  if (slot == nullptr || slot->state == FusedExchange::Slot::State::idle) return;
  const bool again = (view.flags & wire::kFlagAskAck) != 0;
  if (slot->state == FusedExchange::Slot::State::told) {
    if (!again) return;  // what it wants is on its way
    if (!owed.tell || before(owed.again, view.seq)) owed.again = view.seq;
    owed.tell = fused.some_owed = true;
    return wake(fused);
  }
  if (slot->sizes[place] == FusedExchange::kNotCome) {
    slot->sizes[place] = static_cast<std::uint16_t>(part.size());
    if (++slot->count == 1) {
      slot->again_at = now + patience(fused);
      arm_fused(fused, slot->again_at);
    }
    if (!part.empty()) {
      if (slot->parts.empty()) slot->parts.resize(fused.lane.members.size() * kMostPart);
      std::memcpy(slot->parts.data() + place * kMostPart, part.data(), part.size());
    }
  }
  if (!again) return;
  owed.note = fused.some_owed = true;
  owed.acked = view.seq;
  wake(fused);
}

void Lanes::Inner::tell(Lane& lane, Instant now, Seq number, std::span<const std::byte> result) noexcept {
  FusedExchange& fused = fused_of(lane);
  FusedExchange::Slot& slot = fused.slot_of(number);
  HERALD_ASSERT(slot.number == number && slot.state == FusedExchange::Slot::State::gathering &&
                result.size() <= kMostResult);
  slot.datagram.resize(kHead + result.size());
  wire::LanePart part;
  part.name = lane.name;
  part.rtt_us = lane.known_as;
  std::memcpy(slot.datagram.data() + sizeof(wire::DatagramHead), &part, sizeof part);
  if (!result.empty()) std::memcpy(slot.datagram.data() + kHead, result.data(), result.size());
  slot.count = lane.living;
  ++counters.result_of_all;
  slot.state = slot.count == 0 ? FusedExchange::Slot::State::idle : FusedExchange::Slot::State::told;
  while (fused.slot_of(fused.untold).number == fused.untold &&
         fused.slot_of(fused.untold).state != FusedExchange::Slot::State::gathering)
    ++fused.untold;
  if (slot.count == 0) return;
  ++fused.told;
  slot.due = true;
  slot.again_at = now + kAckBy + patience(fused);
  arm_fused(fused, slot.again_at);
  wake(fused);
}

// Nothing more comes from it, and it wants nothing.
void Lanes::Inner::fused_without(Lane& lane, std::uint32_t place) noexcept {
  if (lane.fused == nullptr || lane.me != 0) return;
  FusedExchange& fused = *lane.fused;
  FusedExchange::Owed& owed = fused.owed[place];
  for (FusedExchange::Slot& slot : fused.slots) {
    if (slot.state == FusedExchange::Slot::State::gathering && slot.sizes[place] == FusedExchange::kNotCome)
      slot.lost = true;
    if (slot.state != FusedExchange::Slot::State::told || before(slot.number, owed.have) || --slot.count != 0)
      continue;
    slot.state = FusedExchange::Slot::State::idle;
    --fused.told;
  }
  owed.tell = owed.note = false;
}

Lanes::FusedState Lanes::gather(LaneId lane, std::uint32_t number) noexcept {
  Lane* const one = inner_->find(lane);
  if (one == nullptr) return FusedState::lost;
  HERALD_ASSERT(one->me == 0 && one->members.size() <= kMaxFusedMembers);
  FusedExchange& fused = Inner::fused_of(*one);
  FusedExchange::Slot* const slot = inner_->open_slot(fused, number);
  if (slot == nullptr) {  // nobody may have reported yet: those who are gone never will
    const bool early = number - fused.untold >= FusedExchange::kKnown;
    return early && one->living + 1u < one->members.size() ? FusedState::lost : FusedState::not_yet;
  }
  slot->wanted = true;
  const std::size_t others = one->members.size() - 1;
  if (slot->count == others) return FusedState::all;
  if (!slot->lost) return FusedState::not_yet;
  std::size_t never = 0;
  for (std::size_t i = 1; i <= others; ++i)
    if (one->cursors[i].hearing == Hearing::gone && slot->sizes[i] == FusedExchange::kNotCome) ++never;
  return slot->count + never == others ? FusedState::lost : FusedState::not_yet;
}

std::span<const std::byte> Lanes::part(LaneId lane, std::uint32_t number, std::size_t place) const noexcept {
  const Lane* const one = inner_->find(lane);
  if (one == nullptr || one->fused == nullptr) return {};
  const FusedExchange::Slot& slot = one->fused->slot_of(number);
  if (slot.number != number || slot.sizes[place] == FusedExchange::kNotCome || slot.sizes[place] == 0)
    return {};
  return {slot.parts.data() + place * kMostPart, slot.sizes[place]};
}

void Lanes::tell(Instant now, LaneId lane, std::uint32_t number, std::span<const std::byte> result) noexcept {
  if (Lane* const one = inner_->find(lane)) inner_->tell(*one, now, number, result);
}

}  // namespace herald::rel
