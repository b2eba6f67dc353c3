// SPDX-License-Identifier: BSD-3-Clause
// rel/lane_repair.hpp: packets of ours that members miss. A repair waits a moment for other members that miss
// the same packet: it goes to one of them by unicast, to several by multicast.
// In:  NAKs. Out: the next repair that is due. Timer: the oldest repair that waits.
#pragma once
#include <bit>
#include <cstdint>
#include <memory>

#include "rel/lane_stream.hpp"

namespace herald::rel {

//   none -> waiting -> sent -> waiting (asked for again, too late for the last repair to be on its way)
struct PendingRepair {
  enum class State : std::uint8_t { none, waiting, sent };
  Instant at{};  // waiting: when it is due; sent: when it left
  Seq seq = 0;
  Seq mark = 0;                       // sent: a member that has this one should have got the repair before
  std::int32_t member = kAllMembers;  // that asked; kAllMembers: several
  State state = State::none;
};

class LaneRepair {
 public:
  LaneRepair(const LaneContext& context, const LaneStream& stream, const Audience& audience) noexcept
      : context_(context), stream_(stream), audience_(audience) {}

  void on_nak(Instant now, std::uint32_t place, Seq next, std::span<const std::byte> body) noexcept;
  bool is_pending() const noexcept { return !queue_.empty(); }
  Instant deadline() const noexcept { return queue_.empty() ? kNever : repairs_[slot(queue_.front())].at; }
  // Null: none is due. The caller then sends or drops it.
  PendingRepair* next_due(Instant now) noexcept;
  void on_sent(PendingRepair& repair, Instant now) noexcept;
  void drop(PendingRepair& repair) noexcept;

 private:
  void want(Instant now, std::uint32_t place, Seq seq, Seq end) noexcept;
  Duration gather_time() const noexcept;
  Duration travel_time(const PendingRepair& repair) const noexcept;
  std::size_t slot(Seq seq) const noexcept { return seq & (std::bit_ceil(context_.window) - 1); }

  const LaneContext& context_;
  const LaneStream& stream_;
  const Audience& audience_;
  std::unique_ptr<PendingRepair[]> repairs_;  // by seq; allocated with the first
  LaneFifo<Seq> queue_;                       // those that wait, oldest first
};

}  // namespace herald::rel
