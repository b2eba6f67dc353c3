// SPDX-License-Identifier: BSD-3-Clause
// rel/muster_first.cpp: musters as the first member sees them, who gathers the parts and tells the result.
#include <algorithm>
#include <cstring>

#include "base/fatal.hpp"
#include "rel/lane_inner.hpp"
#include "rel/muster.hpp"

namespace herald::rel {
namespace {

constexpr std::size_t kHead = sizeof(wire::DatagramHead) + sizeof(wire::LanePart);
// Members acknowledge after a while (muster.cpp); tidings are repeated when that is over.
constexpr Duration kAckBy = milliseconds(4);

}  // namespace

Muster::Slot* Lanes::Inner::open_slot(Muster& muster, Seq number) noexcept {
  Muster::Slot& slot = muster.slot_of(number);
  if (slot.number == number) return &slot;
  if (slot.state != Muster::Slot::State::idle || number - muster.untold >= Muster::kKnown) return nullptr;
  slot.number = number;
  slot.state = Muster::Slot::State::gathering;
  slot.lost = std::any_of(muster.lane.cursors.begin() + 1, muster.lane.cursors.end(),
                          [](const LaneMember& one) { return one.hearing == Hearing::gone; });
  slot.wanted = false;
  slot.again_at = kNever;
  slot.count = 0;
  slot.tries = 0;
  slot.sizes.assign(muster.lane.members.size(), Muster::kNotCome);
  return &slot;
}

// A member has the results of all musters before `have`.
void Lanes::Inner::confirm(Muster& muster, std::uint32_t place, Seq have) noexcept {
  Muster::Owed& owed = muster.owed[place];
  if (have - owed.have > Muster::kKnown) return;  // old, or not true
  for (; owed.have != have; ++owed.have) {
    Muster::Slot& slot = muster.slot_of(owed.have);
    const bool known = !before(slot.number, owed.have);
    if (!known || (slot.number == owed.have && slot.state == Muster::Slot::State::gathering))
      break;  // not true: it was not told yet
    if (slot.number != owed.have || slot.state != Muster::Slot::State::told || --slot.count != 0) continue;
    slot.state = Muster::Slot::State::idle;
    slot.again_at = kNever;
    --muster.told;
  }
  Lane& lane = muster.lane;
  if (lane.draining && lane.log.empty() && muster.told == 0) lane.closing = some_closing = true;
}

void Lanes::Inner::on_report(Lane& lane, Instant now, std::uint32_t place,
                             const wire::DatagramView& view) noexcept {
  if (lane.me != 0 || lane.members.size() > kMostMustered) return;
  LaneMember& member = lane.cursors[place];
  if (member.hearing == Hearing::gone || (lane.draining && lane.muster == nullptr)) return;
  Muster& muster = muster_of(lane);
  muster.excuse.end();
  const bool heard = (view.flags & wire::kFlagHeard) != 0;
  if (!heard || member.hearing != Hearing::hears || member.misses != 0) judge(lane, now, place, heard);
  const wire::ReportView report = wire::view_report(view.kind, view.body);
  confirm(muster, place, view.seq - report.behind);
  if ((view.flags & wire::kFlagNoPart) == 0) take_part(muster, now, place, view, report.part);
}

void Lanes::Inner::take_part(Muster& muster, Instant now, std::uint32_t place, const wire::DatagramView& view,
                             std::span<const std::byte> part) noexcept {
  Muster::Owed& owed = muster.owed[place];
  if (part.size() > kMostPart || view.seq - owed.have >= Muster::kAtOnce) return;
  Muster::Slot* const slot = open_slot(muster, view.seq);
  if (slot == nullptr || slot->state == Muster::Slot::State::idle) return;
  const bool again = (view.flags & wire::kFlagAskAck) != 0;
  if (slot->state == Muster::Slot::State::told) {
    if (!again) return;  // what it wants is on its way
    if (!owed.tell || before(owed.again, view.seq)) owed.again = view.seq;
    owed.tell = muster.some_owed = true;
    return wake(muster);
  }
  if (slot->sizes[place] == Muster::kNotCome) {
    slot->sizes[place] = static_cast<std::uint16_t>(part.size());
    if (++slot->count == 1) {
      slot->again_at = now + patience(muster);
      arm_muster(muster, slot->again_at);
    }
    if (!part.empty()) {
      if (slot->parts.empty()) slot->parts.resize(muster.lane.members.size() * kMostPart);
      std::memcpy(slot->parts.data() + place * kMostPart, part.data(), part.size());
    }
  }
  if (!again) return;
  owed.note = muster.some_owed = true;
  owed.noted = view.seq;
  wake(muster);
}

void Lanes::Inner::tell(Lane& lane, Instant now, Seq number, std::span<const std::byte> result) noexcept {
  Muster& muster = muster_of(lane);
  Muster::Slot& slot = muster.slot_of(number);
  HERALD_ASSERT(slot.number == number && slot.state == Muster::Slot::State::gathering &&
                result.size() <= kMostResult);
  slot.datagram.resize(kHead + result.size());
  wire::LanePart part;
  part.name = lane.name;
  part.rtt_us = lane.known_as;
  std::memcpy(slot.datagram.data() + sizeof(wire::DatagramHead), &part, sizeof part);
  if (!result.empty()) std::memcpy(slot.datagram.data() + kHead, result.data(), result.size());
  slot.count = lane.living;
  ++counters.tidings;
  slot.state = slot.count == 0 ? Muster::Slot::State::idle : Muster::Slot::State::told;
  while (muster.slot_of(muster.untold).number == muster.untold &&
         muster.slot_of(muster.untold).state != Muster::Slot::State::gathering)
    ++muster.untold;
  if (slot.count == 0) return;
  ++muster.told;
  slot.due = true;
  slot.again_at = now + kAckBy + patience(muster);
  arm_muster(muster, slot.again_at);
  wake(muster);
}

// Nothing more comes from it, and it wants nothing.
void Lanes::Inner::muster_without(Lane& lane, std::uint32_t place) noexcept {
  if (lane.muster == nullptr || lane.me != 0) return;
  Muster& muster = *lane.muster;
  Muster::Owed& owed = muster.owed[place];
  for (Muster::Slot& slot : muster.slots) {
    if (slot.state == Muster::Slot::State::gathering && slot.sizes[place] == Muster::kNotCome)
      slot.lost = true;
    if (slot.state != Muster::Slot::State::told || before(slot.number, owed.have) || --slot.count != 0)
      continue;
    slot.state = Muster::Slot::State::idle;
    --muster.told;
  }
  owed.tell = owed.note = false;
}

Lanes::Mustered Lanes::gather(LaneId lane, std::uint32_t number) noexcept {
  Lane* const one = inner_->find(lane);
  if (one == nullptr) return Mustered::lost;
  HERALD_ASSERT(one->me == 0 && one->members.size() <= kMostMustered);
  Muster& muster = Inner::muster_of(*one);
  Muster::Slot* const slot = inner_->open_slot(muster, number);
  if (slot == nullptr) {  // nobody may have reported yet: those who are gone never will
    const bool early = number - muster.untold >= Muster::kKnown;
    return early && one->living + 1u < one->members.size() ? Mustered::lost : Mustered::not_yet;
  }
  slot->wanted = true;
  const std::size_t others = one->members.size() - 1;
  if (slot->count == others) return Mustered::all;
  if (!slot->lost) return Mustered::not_yet;
  std::size_t never = 0;
  for (std::size_t i = 1; i <= others; ++i)
    if (one->cursors[i].hearing == Hearing::gone && slot->sizes[i] == Muster::kNotCome) ++never;
  return slot->count + never == others ? Mustered::lost : Mustered::not_yet;
}

std::span<const std::byte> Lanes::part(LaneId lane, std::uint32_t number, std::size_t place) const noexcept {
  const Lane* const one = inner_->find(lane);
  if (one == nullptr || one->muster == nullptr) return {};
  const Muster::Slot& slot = one->muster->slot_of(number);
  if (slot.number != number || slot.sizes[place] == Muster::kNotCome || slot.sizes[place] == 0) return {};
  return {slot.parts.data() + place * kMostPart, slot.sizes[place]};
}

void Lanes::tell(Instant now, LaneId lane, std::uint32_t number, std::span<const std::byte> result) noexcept {
  if (Lane* const one = inner_->find(lane)) inner_->tell(*one, now, number, result);
}

}  // namespace herald::rel
