// SPDX-License-Identifier: BSD-3-Clause
#include "engine/wait_policy.hpp"

#include <algorithm>

namespace herald::engine {
namespace {

// Turns between two readings of the clock while spinning; a turn that polls sockets takes longer.
constexpr int kTurnsPerClock = 32, kTurnsPerClockSockets = 8;
// Yields before a block. A rank that waits for a message lets few others run, because each yield makes its
// own turn later. In a collective inside a host all ranks wait for each other, and a yield is cheaper than a
// wake-up. Where every turn asks the sockets, so many yields take as long as an answer from a near host.
constexpr int kYieldsForMessage = 4, kYieldsInCollective = 64, kYieldsOnlyRemote = 40, kYieldsLong = 2;
// A gap between two readings of the clock that shows that another process had the processor.
constexpr Duration kGap = microseconds(15);
// News this soon after a spin in vain: the sender needed the processor that was spun on.
constexpr Duration kSoon = microseconds(50);
// A yield this long gave the processor to a process that does not yield in turn.
constexpr Duration kLongYield = milliseconds(1);
constexpr Duration kNoSpinAfterWake = milliseconds(2), kNoSpinAfterPreemption = milliseconds(32);
constexpr Duration kLongestNoSpin = milliseconds(500);
constexpr Duration kShortestFewYields = milliseconds(2), kLongestFewYields = milliseconds(200);
constexpr std::int64_t kQuietFactor = 8;  // this many times the back-off without trouble: it is forgotten
constexpr std::int64_t kFairShare = 16;   // a sixteenth of the time may go to others
constexpr Duration kMuchLost = microseconds(150);

}  // namespace

bool PreemptionMeter::add(Instant now, Duration lost) noexcept {
  const std::int64_t fair = (now - last_).ns / kFairShare;
  lost_ = {std::max<std::int64_t>(lost_.ns - fair, 0) + lost.ns};
  last_ = now;
  if (lost_ < kMuchLost) return false;
  lost_ = {};
  return true;
}

void WaitPolicy::BackOff::grow(Instant now, int factor, Duration least, Duration most) noexcept {
  length = std::clamp(Duration{length.ns * factor}, least, most);
  until = now + length;
}

void WaitPolicy::begin(Instant now) noexcept {
  spin_end_ = now + config_.spin;
  last_ = now;
  yields_left_ = -1;
  spun_ = false;
  if (no_spin_.length.ns != 0 && now - no_spin_.until > Duration{kQuietFactor * no_spin_.length.ns})
    no_spin_.length = {};
  if (now >= few_yields_.until) yields_are_long_ = false;
  if (now - few_yields_.until > kLongestFewYields) few_yields_.length = {};
}

WaitStep WaitPolicy::next(Instant now, const WaitFacts& facts) noexcept {
  if (blocked_in_vain_) return {WaitAction::block};
  if (may_spin(now, facts)) {
    spun_ = true;
    last_ = now;
    return {WaitAction::spin, facts.polls_sockets ? kTurnsPerClockSockets : kTurnsPerClock};
  }
  if (spun_) return {WaitAction::block};
  if (yields_left_ < 0) yields_left_ = yields_for(facts);
  if (yields_left_ == 0) return {WaitAction::block};
  --yields_left_;
  return {WaitAction::yield};
}

bool WaitPolicy::may_spin(Instant now, const WaitFacts& facts) noexcept {
  if (!has_processor() || !facts.may_spin || now >= spin_end_ || now < no_spin_.until) return false;
  if (!spun_ || config_.forced || now - last_ <= kGap || !was_preempted(now)) return true;
  stop_spinning(now, kNoSpinAfterPreemption);
  spun_ = false;  // the wait goes on as on a shared processor
  return false;
}

// A virtual machine that stands still shows the same gap; only the kernel's count tells them apart.
bool WaitPolicy::was_preempted(Instant now) noexcept {
  if (config_.involuntary_switches == nullptr) return false;
  const std::int64_t before = switches_;
  switches_ = config_.involuntary_switches();
  return switches_ != before && preemptions_.add(now, now - last_);
}

void WaitPolicy::stop_spinning(Instant now, Duration least) noexcept {
  no_spin_.grow(now, 4, least, kLongestNoSpin);
}

int WaitPolicy::yields_for(const WaitFacts& facts) const noexcept {
  if (yields_are_long_) return kYieldsLong;
  if (facts.only_remote) return kYieldsOnlyRemote;
  return facts.in_collective && !facts.polls_sockets ? kYieldsInCollective : kYieldsForMessage;
}

void WaitPolicy::on_yielded(Instant before, Instant after) noexcept {
  if (after - before <= kLongYield) return;
  few_yields_.grow(after, 2, kShortestFewYields, kLongestFewYields);
  yields_are_long_ = true;
  yields_left_ = 0;
}

void WaitPolicy::on_blocked(Instant before, Instant after, bool moved) noexcept {
  if (moved && spun_ && !config_.forced && after - before < kSoon) stop_spinning(after, kNoSpinAfterWake);
  blocked_in_vain_ = !moved;
}

}  // namespace herald::engine
