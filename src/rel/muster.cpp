// SPDX-License-Identifier: BSD-3-Clause
// rel/muster.cpp: musters as a member sees them, and what both sides have in common.
#include "rel/muster.hpp"

#include <algorithm>
#include <cstring>

#include "base/fatal.hpp"
#include "rel/lane_inner.hpp"

namespace herald::rel {
namespace {

constexpr std::size_t kHead = sizeof(wire::DatagramHead) + sizeof(wire::ReportPart);
constexpr std::int64_t kPatience = 4;  // round trips
constexpr Duration kLeastPatience = milliseconds(1), kMostPatience = milliseconds(100);
// Tidings are acknowledged by themselves after so long, unless the next report does.
constexpr Duration kAckAfter = milliseconds(2);
// Who knows that its part has come waits longer: the first will tell, and tell again.
constexpr int kNotedPatience = 16;  // times as long
constexpr Duration kMostNotedPatience = milliseconds(250);
constexpr std::uint8_t kMostTries = 10;

}  // namespace

Muster& Lanes::Inner::muster_of(Lane& lane) noexcept {
  if (lane.muster == nullptr) {
    lane.muster = std::make_unique<Muster>(lane);
    lane.muster->owed.resize(lane.me == 0 ? lane.members.size() : 0);
  }
  return *lane.muster;
}

Duration Lanes::Inner::patience(const Muster& muster) const noexcept {
  const Duration rtt = std::max(muster.rtt.ns != 0 ? muster.rtt : config.first_rtt, muster.lane.rtt);
  return std::clamp(Duration{kPatience * rtt.ns}, kLeastPatience, kMostPatience);
}

// Most deadlines are not reached: who is called too early looks when it is really due.
void Lanes::Inner::arm_muster(Muster& muster, Instant at) noexcept {
  if (at >= muster.armed) return;
  muster.armed = at;
  rearm(muster);
}

bool Lanes::Inner::report(Lane& lane, Seq number, std::span<const std::byte> part) noexcept {
  Muster& muster = muster_of(lane);
  Muster::Report& one = muster.report_of(number);
  HERALD_ASSERT(lane.me != 0 && part.size() <= kMostPart);
  if (one.state != Muster::Report::State::idle || number - muster.have >= Muster::kAtOnce) return false;
  one.state = Muster::Report::State::open;
  one.number = number;
  one.noted = false;
  one.tries = 0;
  one.due = true;
  one.datagram.resize(kHead + part.size());
  if (!part.empty()) std::memcpy(one.datagram.data() + kHead, part.data(), part.size());
  ++counters.reports;
  wake(muster);
  return true;
}

void Lanes::Inner::on_tidings(Lane& lane, Instant now, bool by_group, std::uint32_t place,
                              const wire::DatagramView& view) noexcept {
  if (place != 0 || lane.muster == nullptr) return;
  Muster& muster = *lane.muster;
  muster.heard = muster.heard || by_group;
  Muster::Report& one = muster.report_of(view.seq);
  if (one.state != Muster::Report::State::open || one.number != view.seq) {
    if ((view.flags & wire::kFlagAskAck) == 0) return;
    muster.ack_now = !report_again(muster, now);
    return wake(muster);
  }
  muster.known_as = wire::part_at<wire::LanePart>(view.body).rtt_us;
  const auto result = view.body.subspan(sizeof(wire::LanePart));
  one.result.assign(result.begin(), result.end());
  one.state = Muster::Report::State::come;
  one.again_at = kNever;
  one.due = false;
  muster.excuse.end();
  while (muster.report_of(muster.have).number == muster.have &&
         muster.report_of(muster.have).state != Muster::Report::State::open)
    ++muster.have;
  muster.ack_at = now + kAckAfter;
  arm_muster(muster, muster.ack_at);
}

void Lanes::Inner::on_noted(Lane& lane, Instant now, std::uint32_t place,
                            const wire::DatagramView& view) noexcept {
  if (place != 0 || lane.muster == nullptr) return;
  Muster& muster = *lane.muster;
  Muster::Report& one = muster.report_of(view.seq);
  if (one.state != Muster::Report::State::open || one.number != view.seq) return;
  if (one.tries == 2 && !one.noted) muster.rtt = now - one.sent_at;
  one.noted = true;
  const Duration wait{kNotedPatience * patience(muster).ns << std::min<int>(one.tries, kMostTries)};
  one.again_at = now + std::min(wait, kMostNotedPatience);
}

// The first asks: true if a report, of which it is not known that it has come, is to leave again.
bool Lanes::Inner::report_again(Muster& muster, Instant now) noexcept {
  bool some = false;
  for (Muster::Report& one : muster.reports) {
    if (one.state != Muster::Report::State::open || one.noted || one.tries == 0) continue;
    if (now - one.sent_at >= Duration{patience(muster).ns / 2}) one.due = true;
    some = true;
  }
  return some;
}

bool Lanes::Inner::is_settled(const Lane& lane) noexcept {
  if (lane.muster == nullptr) return true;
  return lane.me == 0
             ? lane.muster->told == 0
             : lane.muster->have == lane.muster->told_have || lane.cursors[0].hearing == Hearing::gone;
}

void Lanes::Inner::on_muster_timers(Muster& muster, Instant now) noexcept {
  Instant next = kNever;
  const auto wait = [&](std::uint8_t tries) {
    return std::min(Duration{patience(muster).ns << std::min<int>(tries, kMostTries)}, kMostPatience);
  };
  for (Muster::Report& one : muster.reports) {
    if (one.state != Muster::Report::State::open) continue;
    if (one.again_at <= now) {
      one.due = true;
      one.again_at = now + wait(one.tries);
      wake(muster);
    }
    next = std::min(next, one.again_at);
  }
  if (muster.ack_at <= now) {
    muster.ack_now = true;
    muster.ack_at = kNever;
    wake(muster);
  }
  next = std::min(next, muster.ack_at);
  for (Muster::Slot& slot : muster.slots) {
    if (slot.state == Muster::Slot::State::gathering && slot.again_at <= now) {
      muster.remind = muster.remind || slot.wanted;
      slot.tries = std::min<std::uint8_t>(slot.tries + 1, kMostTries);
      slot.again_at = now + wait(slot.tries);
      wake(muster);
    }
    if (slot.state == Muster::Slot::State::gathering) next = std::min(next, slot.again_at);
    if (slot.state != Muster::Slot::State::told) continue;
    if (slot.again_at <= now) {
      slot.tries = std::min<std::uint8_t>(slot.tries + 1, kMostTries);
      slot.again_at = now + wait(slot.tries);
      for (std::uint32_t place = 1; place < muster.owed.size(); ++place) {
        Muster::Owed& owed = muster.owed[place];
        if (muster.lane.cursors[place].hearing == Hearing::gone || before(slot.number, owed.have)) continue;
        if (!owed.tell || before(owed.again, slot.number)) owed.again = slot.number;
        owed.tell = muster.some_owed = true;
      }
      wake(muster);
    }
    next = std::min(next, slot.again_at);
  }
  muster.armed = next;
}

bool Lanes::Inner::excuse_muster(Muster& muster, Instant now, Duration time) noexcept {
  if (!muster.excuse.may(now, kAckExcused)) return false;
  muster.excuse.note(now);
  const Instant later = now + std::max(time, patience(muster));
  const auto put_off = [&](Instant& at) {
    if (at <= now) at = later;
  };
  put_off(muster.ack_at);
  for (Muster::Report& one : muster.reports) put_off(one.again_at);
  for (Muster::Slot& slot : muster.slots) put_off(slot.again_at);
  muster.armed = kNever;
  on_muster_timers(muster, now);
  return true;
}

bool Lanes::report(LaneId lane, std::uint32_t number, std::span<const std::byte> part) noexcept {
  Lane* const one = inner_->find(lane);
  return one != nullptr && inner_->report(*one, number, part);
}

Lanes::Mustered Lanes::result(LaneId lane, std::uint32_t number,
                              std::span<const std::byte>& bytes) const noexcept {
  const Lane* const one = inner_->find(lane);
  if (one == nullptr) return Mustered::lost;
  if (one->muster != nullptr) {
    const Muster::Report& report = one->muster->report_of(number);
    if (report.number == number && report.state == Muster::Report::State::come) {
      bytes = report.result;
      return Mustered::all;
    }
  }
  // One that has closed the lane tells until all have heard.
  return one->cursors.front().silent ? Mustered::lost : Mustered::not_yet;
}

void Lanes::take_result(LaneId lane, std::uint32_t number) noexcept {
  Lane* const one = inner_->find(lane);
  if (one == nullptr || one->muster == nullptr) return;
  Muster::Report& report = one->muster->report_of(number);
  if (report.number == number) report.state = Muster::Report::State::idle;
}

}  // namespace herald::rel
