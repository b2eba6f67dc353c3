// SPDX-License-Identifier: BSD-3-Clause
// rel/fused_member.cpp: fused exchanges as a member sees them, and what both sides have in common.
#include "rel/fused_exchange.hpp"

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
constexpr int kAckedPatience = 16;  // times as long
constexpr Duration kMostAckedPatience = milliseconds(250);
constexpr std::uint8_t kMostTries = 10;

}  // namespace

FusedExchange& Lanes::Inner::fused_of(Lane& lane) noexcept {
  if (lane.fused == nullptr) {
    lane.fused = std::make_unique<FusedExchange>(lane);
    lane.fused->owed.resize(lane.me == 0 ? lane.members.size() : 0);
  }
  return *lane.fused;
}

Duration Lanes::Inner::patience(const FusedExchange& fused) const noexcept {
  const Duration rtt = std::max(fused.rtt.ns != 0 ? fused.rtt : config.first_rtt, fused.lane.rtt);
  return std::clamp(Duration{kPatience * rtt.ns}, kLeastPatience, kMostPatience);
}

// Most deadlines are not reached: who is called too early looks when it is really due.
void Lanes::Inner::arm_fused(FusedExchange& fused, Instant at) noexcept {
  if (at >= fused.armed) return;
  fused.armed = at;
  rearm(fused);
}

bool Lanes::Inner::report(Lane& lane, Seq number, std::span<const std::byte> part) noexcept {
  FusedExchange& fused = fused_of(lane);
  FusedExchange::Report& one = fused.report_of(number);
  HERALD_ASSERT(lane.me != 0 && part.size() <= kMostPart);
  if (one.state != FusedExchange::Report::State::idle || number - fused.have >= FusedExchange::kAtOnce)
    return false;
  one.state = FusedExchange::Report::State::open;
  one.number = number;
  one.acked = false;
  one.tries = 0;
  one.due = true;
  one.datagram.resize(kHead + part.size());
  if (!part.empty()) std::memcpy(one.datagram.data() + kHead, part.data(), part.size());
  ++counters.reports;
  wake(fused);
  return true;
}

void Lanes::Inner::on_result(Lane& lane, Instant now, bool by_group, std::uint32_t place,
                             const wire::DatagramView& view) noexcept {
  if (place != 0 || lane.fused == nullptr) return;
  FusedExchange& fused = *lane.fused;
  fused.heard = fused.heard || by_group;
  FusedExchange::Report& one = fused.report_of(view.seq);
  if (one.state != FusedExchange::Report::State::open || one.number != view.seq) {
    if ((view.flags & wire::kFlagAskAck) == 0) return;
    fused.ack_now = !report_again(fused, now);
    return wake(fused);
  }
  fused.known_as = wire::part_at<wire::LanePart>(view.body).rtt_us;
  const auto result = view.body.subspan(sizeof(wire::LanePart));
  one.result.assign(result.begin(), result.end());
  one.state = FusedExchange::Report::State::come;
  one.again_at = kNever;
  one.due = false;
  fused.deferral.end();
  while (fused.report_of(fused.have).number == fused.have &&
         fused.report_of(fused.have).state != FusedExchange::Report::State::open)
    ++fused.have;
  fused.ack_at = now + kAckAfter;
  arm_fused(fused, fused.ack_at);
}

void Lanes::Inner::on_contribution_ack(Lane& lane, Instant now, std::uint32_t place,
                                       const wire::DatagramView& view) noexcept {
  if (place != 0 || lane.fused == nullptr) return;
  FusedExchange& fused = *lane.fused;
  FusedExchange::Report& one = fused.report_of(view.seq);
  if (one.state != FusedExchange::Report::State::open || one.number != view.seq) return;
  if (one.tries == 2 && !one.acked) fused.rtt = now - one.sent_at;
  one.acked = true;
  const Duration wait{kAckedPatience * patience(fused).ns << std::min<int>(one.tries, kMostTries)};
  one.again_at = now + std::min(wait, kMostAckedPatience);
}

// The first asks: true if a report, of which it is not known that it has come, is to leave again.
bool Lanes::Inner::report_again(FusedExchange& fused, Instant now) noexcept {
  bool some = false;
  for (FusedExchange::Report& one : fused.reports) {
    if (one.state != FusedExchange::Report::State::open || one.acked || one.tries == 0) continue;
    if (now - one.sent_at >= Duration{patience(fused).ns / 2}) one.due = true;
    some = true;
  }
  return some;
}

bool Lanes::Inner::is_settled(const Lane& lane) noexcept {
  if (lane.fused == nullptr) return true;
  return lane.me == 0 ? lane.fused->told == 0
                      : lane.fused->have == lane.fused->told_have || lane.cursors[0].hearing == Hearing::gone;
}

void Lanes::Inner::on_fused_timers(FusedExchange& fused, Instant now) noexcept {
  Instant next = kNever;
  const auto wait = [&](std::uint8_t tries) {
    return std::min(Duration{patience(fused).ns << std::min<int>(tries, kMostTries)}, kMostPatience);
  };
  for (FusedExchange::Report& one : fused.reports) {
    if (one.state != FusedExchange::Report::State::open) continue;
    if (one.again_at <= now) {
      one.due = true;
      one.again_at = now + wait(one.tries);
      wake(fused);
    }
    next = std::min(next, one.again_at);
  }
  if (fused.ack_at <= now) {
    fused.ack_now = true;
    fused.ack_at = kNever;
    wake(fused);
  }
  next = std::min(next, fused.ack_at);
  for (FusedExchange::Slot& slot : fused.slots) {
    if (slot.state == FusedExchange::Slot::State::gathering && slot.again_at <= now) {
      fused.remind = fused.remind || slot.wanted;
      slot.tries = std::min<std::uint8_t>(slot.tries + 1, kMostTries);
      slot.again_at = now + wait(slot.tries);
      wake(fused);
    }
    if (slot.state == FusedExchange::Slot::State::gathering) next = std::min(next, slot.again_at);
    if (slot.state != FusedExchange::Slot::State::told) continue;
    if (slot.again_at <= now) {
      slot.tries = std::min<std::uint8_t>(slot.tries + 1, kMostTries);
      slot.again_at = now + wait(slot.tries);
      for (std::uint32_t place = 1; place < fused.owed.size(); ++place) {
        FusedExchange::Owed& owed = fused.owed[place];
        if (fused.lane.cursors[place].hearing == Hearing::gone || before(slot.number, owed.have)) continue;
        if (!owed.tell || before(owed.again, slot.number)) owed.again = slot.number;
        owed.tell = fused.some_owed = true;
      }
      wake(fused);
    }
    next = std::min(next, slot.again_at);
  }
  fused.armed = next;
}

bool Lanes::Inner::defer_fused(FusedExchange& fused, Instant now, Duration time) noexcept {
  if (!fused.deferral.may(now, kAckDeferral)) return false;
  fused.deferral.note(now);
  const Instant later = now + std::max(time, patience(fused));
  const auto put_off = [&](Instant& at) {
    if (at <= now) at = later;
  };
  put_off(fused.ack_at);
  for (FusedExchange::Report& one : fused.reports) put_off(one.again_at);
  for (FusedExchange::Slot& slot : fused.slots) put_off(slot.again_at);
  fused.armed = kNever;
  on_fused_timers(fused, now);
  return true;
}

bool Lanes::report(LaneId lane, std::uint32_t number, std::span<const std::byte> part) noexcept {
  Lane* const one = inner_->find(lane);
  return one != nullptr && inner_->report(*one, number, part);
}

Lanes::FusedState Lanes::result(LaneId lane, std::uint32_t number,
                                std::span<const std::byte>& bytes) const noexcept {
  const Lane* const one = inner_->find(lane);
  if (one == nullptr) return FusedState::lost;
  if (one->fused != nullptr) {
    const FusedExchange::Report& report = one->fused->report_of(number);
    if (report.number == number && report.state == FusedExchange::Report::State::come) {
      bytes = report.result;
      return FusedState::all;
    }
  }
  // One that has closed the lane tells until all have heard.
  return one->cursors.front().silent ? FusedState::lost : FusedState::not_yet;
}

void Lanes::take_result(LaneId lane, std::uint32_t number) noexcept {
  Lane* const one = inner_->find(lane);
  if (one == nullptr || one->fused == nullptr) return;
  FusedExchange::Report& report = one->fused->report_of(number);
  if (report.number == number) report.state = FusedExchange::Report::State::idle;
}

}  // namespace herald::rel
