// SPDX-License-Identifier: BSD-3-Clause
// rel/deferred_timers.hpp: what fell due while nobody called (acks; packets of ours that seem lost because
// nobody read the answers) is put off when the program is back: others wait for what it is about to do, and
// most is answered by that. A program that computes and calls in turn comes back again and again: it is put
// off each time, but the first time is not long ago then, for somebody may really miss something.
#pragma once
#include <algorithm>
#include <cstdint>

#include "base/instant.hpp"

namespace herald::rel {

class DeferredTimers {
 public:
  bool may(Instant now, Duration most) const noexcept {
    return since_ms_ == 0 || static_cast<std::uint16_t>(clock(now) - since_ms_) < most.ns / 1'000'000;
  }
  void note(Instant now) noexcept {
    if (since_ms_ == 0) since_ms_ = clock(now);
  }
  // What was put off is done, or needs not be done any more.
  void end() noexcept { since_ms_ = 0; }

  // Who was away for long has much to do.
  static Duration time(Duration away) noexcept { return std::min(Duration{away.ns / 4}, kMostTime); }

 private:
  static constexpr Duration kMostTime = milliseconds(1);
  static std::uint16_t clock(Instant now) noexcept {
    return static_cast<std::uint16_t>(now.ns / 1'000'000 % UINT16_MAX + 1);
  }

  std::uint16_t since_ms_ = 0;  // modulo 2^16 - 1, and one; 0: nothing was put off
};

// Since the first time. Those who would repeat something wait longer than those who owe an ack.
constexpr Duration kAckDeferral = milliseconds(8), kRepeatDeferral = milliseconds(16);

}  // namespace herald::rel
