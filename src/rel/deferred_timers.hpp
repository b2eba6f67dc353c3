// SPDX-License-Identifier: BSD-3-Clause
// rel/deferred_timers.hpp: postpones acks and retransmissions that fell due while the process was not
// scheduled or did not call MPI. Its next packets, and acks that it has not read yet, make most of them
// unnecessary. Invariant: nothing is postponed longer than a limit since the first time, for a peer may
// really miss it.
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
  // The postponed work is done, or not needed any more.
  void end() noexcept { since_ms_ = 0; }

  // A process that was away for longer has more to catch up with.
  static Duration time(Duration away) noexcept { return std::min(Duration{away.ns / 4}, kMostTime); }

 private:
  static constexpr Duration kMostTime = milliseconds(1);
  static std::uint16_t clock(Instant now) noexcept {
    return static_cast<std::uint16_t>(now.ns / 1'000'000 % UINT16_MAX + 1);
  }

  std::uint16_t since_ms_ = 0;  // modulo 2^16 - 1, plus 1; 0: nothing is postponed
};

// Since the first time. A retransmission may wait longer than an ack.
constexpr Duration kAckDeferral = milliseconds(8), kRepeatDeferral = milliseconds(16);

}  // namespace herald::rel
