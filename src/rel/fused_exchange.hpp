// SPDX-License-Identifier: BSD-3-Clause
// rel/fused_exchange.hpp: short collective calls (barrier, small allreduce and allgather): each member of a
// lane contributes something short to the root, its first member, and the root announces something short to
// all. fused_member.hpp is the side of a member, fused_root.hpp that of the root; here is what both have.
//
// Each exchange has a number, counted alike by all members. In the common case there are no acks: the result
// acknowledges the contributions, and the next contribution of a member says which results have come; a
// member that does not contribute again soon says so in a contribution without data. A member that waits for
// a result repeats its contribution, at growing intervals; the root answers with the result, or with a
// contribution_ack. The root repeats a result that a member has not acknowledged. So each side repairs what
// the other may have lost, and packets that come twice change nothing. A member may sleep in the receive of
// the group's socket: a root that waits repeats the last result to the group as a reminder, and members that
// have contributed do so again.
//
// Calls may begin in any order of their numbers.
//
// Invariants: a member has at most kAtOnce exchanges open, and none further than that from the oldest; so the
// root knows at most twice as many. Contributions and results are one datagram each.
#pragma once
#include <algorithm>

#include "rel/deferred_timers.hpp"
#include "rel/lane_context.hpp"

namespace herald::rel {

class Audience;

constexpr Seq kFusedAtOnce = 8;

// Common to member and root: when a datagram is repeated.
class FusedActor : public LaneActor {
 public:
  // Most deadlines are not reached: an actor called too early finds out when it is really due.
  void rearm() noexcept { context_.scheduler.set_deadline(*this, armed_); }

 protected:
  static constexpr std::uint8_t kMaxTries = 10;  // that lengthen the interval

  FusedActor(ActorKind kind_, LaneContext& context, LaneInfo& info, Audience& audience) noexcept
      : LaneActor(kind_), context_(context), info_(info), audience_(audience) {}
  ~FusedActor() = default;

  void wake() noexcept { context_.scheduler.wake(*this); }
  void arm(Instant at) noexcept {
    if (at >= armed_) return;
    armed_ = at;
    rearm();
  }
  Duration patience() const noexcept;  // until something is repeated for the first time
  Duration retry_delay(std::uint8_t tries) const noexcept;

  LaneContext& context_;
  LaneInfo& info_;
  Audience& audience_;
  Duration rtt_{};          // 0: not known
  Instant armed_ = kNever;  // may be too early
  DeferredTimers deferral_;
};

}  // namespace herald::rel
