// SPDX-License-Identifier: BSD-3-Clause
// node/turn_clock.hpp: how long a node was left alone before a turn, and why: its driver blocked, the program
// computed, or the whole process stood still.
#pragma once
#include <utility>

#include "base/instant.hpp"

namespace herald::node {

class TurnClock {
 public:
  // The driver blocked since the last turn: it was there all the time.
  void on_block() noexcept { blocked_ = true; }
  // True: nobody called for so long that the process may have been stopped, and could not hear its peers.
  bool notice_gap(Instant now) noexcept {
    const bool gap = now - last_call_ > kStopped;
    if (gap) last_call_ = now;
    return gap;
  }
  // The keep-alive thread was here.
  void on_keep_alive(Instant now) noexcept { last_call_ = now; }
  // A turn of the program begins. Gives how long it was away; zero: it was not.
  Duration begin_turn(Instant now) noexcept {
    const Duration since = now - last_turn_;
    last_turn_ = last_call_ = now;
    return !std::exchange(blocked_, false) && since >= kAway ? since : Duration{};
  }
  Instant last_turn() const noexcept { return last_turn_; }

 private:
  static constexpr Duration kAway = microseconds(300);     // between two calls of a program that waits
  static constexpr Duration kStopped = milliseconds(100);  // the keep-alive thread comes as often
  Instant last_turn_{}, last_call_{};
  bool blocked_ = true;
};

}  // namespace herald::node
