// SPDX-License-Identifier: BSD-3-Clause
// rel/lane_baselines.hpp: Simple and Push-Pull Broadcast of paper 000, as baselines for the streaming mode.
// Both are go-back-n: a member that misses a packet is sent all from there on, by unicast, from the same log.
#pragma once
#include <cstdint>

#include "rel/lane_stream.hpp"

namespace herald::rel {

// push_pull: the member that acknowledges the push of `source`, the first live one after it.
std::uint32_t designated_member(const LaneInfo& info, const Audience& audience,
                                std::uint32_t source) noexcept;

class GoBackN {
 public:
  GoBackN(LaneContext& context, const LaneInfo& info, LaneStream& stream, Audience& audience) noexcept
      : context_(context), info_(info), stream_(stream), audience_(audience) {}

  // All that the member does not have goes to it again, unless it is on its way.
  void go_back(Instant now, LaneMember& member) noexcept;
  // After the member's cursor moved, or the member is gone.
  void on_progress(LaneMember& member) noexcept;
  bool is_active() const noexcept { return behind_ != 0; }
  // Whether the next packet of ours may leave for the group.
  bool may_cast() noexcept;
  bool is_push(Seq seq) const noexcept { return pushed_ && seq + 1 == push_end_; }

 private:
  LaneContext& context_;
  const LaneInfo& info_;
  LaneStream& stream_;
  Audience& audience_;
  std::uint16_t behind_ = 0;   // members that go back
  bool pushed_ = false;        // push_pull: the push is out and not acknowledged
  bool suspended_ = false;     // push_pull: the cast waits
  Seq push_end_ = kFirstCast;  // push_pull: of the push; once that is acknowledged, of the burst
};

}  // namespace herald::rel
