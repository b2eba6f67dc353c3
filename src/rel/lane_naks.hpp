// SPDX-License-Identifier: BSD-3-Clause
// rel/lane_naks.hpp: finds holes in the stream of another member and asks for them.
// Timers: the grace of new holes, and the next time that old ones are asked for.
// Invariant: a hole younger than its grace is not asked for: packets may be out of order, and another member
// may ask for the same, so that it is repaired for all.
#pragma once
#include <algorithm>
#include <cstdint>

#include "rel/lane_acks.hpp"

namespace herald::rel {

class LaneNaks {
 public:
  LaneNaks(LaneContext& context, const LaneInfo& info, InboundStream& stream, std::uint16_t source,
           LaneActor& receiver) noexcept
      : context_(context), info_(info), stream_(stream), receiver_(receiver), source_(source) {}

  Instant deadline() const noexcept { return std::min(grace_at_, repeat_at_); }
  void find_holes(Instant now) noexcept;
  // A question of the source came: it left after any repair of what we asked for a round trip ago.
  void on_ask(Instant now) noexcept;
  void on_answer(Instant now) noexcept;  // the source answers again
  void on_timers(Instant now) noexcept;
  bool fill(Instant now, TxBatch& out) noexcept;
  void stop() noexcept;

 private:
  Duration grace() noexcept;
  void emit(Instant now, TxBatch& out) noexcept;

  LaneContext& context_;
  const LaneInfo& info_;
  InboundStream& stream_;
  LaneActor& receiver_;
  const std::uint16_t source_;
  std::uint8_t repeats_ = 0;
  Seq asked_end_ = kFirstCast;                       // holes before this one were asked for
  Seq grace_end_ = kFirstCast;                       // those before this one are asked for at grace_at
  Seq nak_from_ = kFirstCast, nak_to_ = kFirstCast;  // holes to be asked for now
  Seq repeat_next_ = kFirstCast;                     // `next` when we asked again
  Instant grace_at_ = kNever;
  Instant repeat_at_ = kNever;
  Instant asked_at_{};
};

}  // namespace herald::rel
