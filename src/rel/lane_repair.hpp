// SPDX-License-Identifier: BSD-3-Clause
// rel/lane_repair.hpp: packets of ours that members miss. A repair waits a moment for other members that miss
// the same packet: it goes to one of them by unicast, to several by multicast.
// In:  NAKs. Out: the next repair that is due. Timer: the oldest repair that waits.
#pragma once
#include <algorithm>
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
  std::uint8_t lost = 0;  // repairs that were asked for again by a member they were for
};

// Holds repairs back while they are lost again and again. Then ports are overrun, maybe by the repairs of
// many sources at once, and nobody would get through at the usual pace: one repair leaves in each interval,
// which doubles with losses until the ports have room, and shrinks by a quarter as long as nothing more is
// lost. At most one step in an interval or `timeout`: what is lost meanwhile left before the step.
class RepairBrake {
 public:
  // A packet is asked for that was repaired several times.
  void on_lost_again(Instant now, Duration timeout) noexcept {
    timeout = std::max(timeout, kLeastTimeout);
    if (!may_step(now, timeout)) return;
    interval_ = std::min(std::max(Duration{2 * interval_.ns}, Duration{timeout.ns / kFirstBurst}), kLongest);
    changed_at_ = now;
  }
  void on_sent(Instant now, Duration timeout) noexcept {
    if (interval_.ns == 0) return;
    if (may_step(now, std::max(timeout, kLeastTimeout))) {
      interval_ = interval_ < kShortest ? Duration{} : Duration{interval_.ns * 3 / 4};
      changed_at_ = now;
    }
    next_at_ = now + interval_;
  }
  Instant next_at() const noexcept { return next_at_; }
  Duration interval() const noexcept { return interval_; }

 private:
  static constexpr Duration kLeastTimeout = milliseconds(1);
  static constexpr Duration kShortest = microseconds(8), kLongest = milliseconds(200);
  static constexpr std::int64_t kFirstBurst = 64;  // repairs in a timeout after the first step
  bool may_step(Instant now, Duration timeout) const noexcept {
    return now >= changed_at_ + std::max(timeout, interval_);
  }
  Instant next_at_{}, changed_at_{};
  Duration interval_{};  // 0: no brake
};

class LaneRepair {
 public:
  LaneRepair(const LaneContext& context, const LaneStream& stream, const Audience& audience) noexcept
      : context_(context), stream_(stream), audience_(audience) {}

  void on_nak(Instant now, std::uint32_t place, Seq next, std::span<const std::byte> body) noexcept;
  bool is_pending() const noexcept { return !queue_.empty(); }
  Instant deadline() const noexcept {
    return queue_.empty() ? kNever : std::max(repairs_[slot(queue_.front())].at, brake_.next_at());
  }
  // Null: none is due. The caller then sends or drops it.
  PendingRepair* next_due(Instant now) noexcept;
  void on_sent(PendingRepair& repair, Instant now) noexcept;
  void drop(PendingRepair& repair) noexcept;

 private:
  void on_lost(Instant now, PendingRepair& repair) noexcept;
  void want(Instant now, std::uint32_t place, Seq seq, Seq end) noexcept;
  Duration gather_time() const noexcept;
  Duration travel_time(const PendingRepair& repair) const noexcept;
  std::size_t slot(Seq seq) const noexcept { return seq & (std::bit_ceil(context_.window) - 1); }

  const LaneContext& context_;
  const LaneStream& stream_;
  const Audience& audience_;
  std::unique_ptr<PendingRepair[]> repairs_;  // by seq; allocated with the first
  LaneFifo<Seq> queue_;                       // those that wait, oldest first
  RepairBrake brake_;
  std::size_t braked_at_ = 0;  // datagram_bytes() that brake_ is about
};

}  // namespace herald::rel
