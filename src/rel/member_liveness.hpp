// SPDX-License-Identifier: BSD-3-Clause
// rel/member_liveness.hpp: whether a member of a lane still answers. This is the only place that decides it.
// In:  datagrams of the member on this lane, questions sent to it, the peer's last datagram on any lane.
// Out: is_lost(), once it answered nothing for `give_up` after it was asked.
#pragma once
#include <algorithm>

#include "base/instant.hpp"
#include "rel/link.hpp"

namespace herald::rel {

class MemberLiveness {
 public:
  void on_heard() noexcept { asked_since_ = kNever; }
  void on_asked(Instant now) noexcept {
    if (asked_since_ == kNever) asked_since_ = now;
  }
  bool is_asked() const noexcept { return asked_since_ != kNever; }
  bool is_lost(Instant now, Instant peer_heard_at, Duration give_up) const noexcept {
    return is_asked() && now - std::max(asked_since_, peer_heard_at) >= give_up;
  }
  // Our own process was stopped for `gap`: the silence of that time does not count.
  void on_clock_gap(Instant now, Duration gap) noexcept {
    if (is_asked()) asked_since_ = std::min(asked_since_ + gap, now);
  }

 private:
  Instant asked_since_ = kNever;  // by unicast, without a datagram from it since
};

}  // namespace herald::rel
