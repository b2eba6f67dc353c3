// SPDX-License-Identifier: BSD-3-Clause
// rel/lane_source.hpp: our stream on one lane: one log for all members, a cursor in it for each.
// In:  packets to cast; acks and NAKs of members; deadlines. Out: datagrams; members that are lost.
// Timer: the tail that members have not acknowledged, the notice of a burst's end, repairs.
// Invariant: a log entry stays until the last live member's cursor has passed it.
#pragma once
#include <cstdint>
#include <span>

#include "rel/deferred_timers.hpp"
#include "rel/lane_transmitter.hpp"

namespace herald::rel {

class Lane;

// When to ask members that have not acknowledged the end of our stream.
class TailTimer {
 public:
  struct Delays {
    Duration quiet;  // after the last packet, or the last question
    Duration hold;   // for which an ack may be held back after the first packet
    Duration longest;
  };
  Instant at() const noexcept { return at_; }
  std::uint8_t asks() const noexcept { return asks_; }
  void arm(const LaneStream& stream, const Delays& delays) noexcept;
  void disarm() noexcept {
    at_ = kNever;
    asks_ = 0;
  }
  void on_progress() noexcept {
    asks_ = 0;
    deferral_.end();
  }
  void on_asked(Instant now) noexcept {
    if (asks_ < kMaxAsks) ++asks_;
    asked_at_ = answered_at_ = now;
  }
  void on_member_alive() noexcept { asks_ = std::min<std::uint8_t>(asks_, 4); }
  // Takes back what has backed off.
  void on_answer(Instant now) noexcept {
    if (asks_ == 0) return;
    asks_ = 1;
    answered_at_ = now;
  }
  bool may_defer(Instant now) const noexcept { return asks_ == 0 && deferral_.may(now, kRepeatDeferral); }
  void defer(Instant now, Instant until) noexcept {
    deferral_.note(now);
    deferred_until_ = until;
  }

 private:
  static constexpr std::uint8_t kMaxAsks = 20;
  Instant at_ = kNever;
  Instant deferred_until_{};
  Instant asked_at_{};
  Instant answered_at_{};    // the last answer since, or asked_at_
  DeferredTimers deferral_;  // since the slowest member last made progress
  std::uint8_t asks_ = 0;    // in a row without progress
};

class LaneSource final : public LaneActor, public WindowWaiter {
 public:
  LaneSource(LaneContext& context, Lane& lane, LaneInfo& info, Audience& audience) noexcept;

  // room() is empty while the window is closed or there is no memory.
  std::span<std::byte> room(std::size_t least) noexcept;
  void commit(std::size_t bytes) noexcept;
  LaneId id() const noexcept { return info_.id; }
  bool is_open() const noexcept { return !info_.closing && !info_.draining; }
  bool is_empty() const noexcept { return stream_.log.empty(); }
  void clear_starving() noexcept { starving_ = false; }

  bool on_ack(Instant now, std::uint32_t place, const wire::DatagramView& view) noexcept;
  bool on_ack_rows(Instant now, std::uint32_t place, std::span<const wire::AckRow> rows) noexcept;
  bool on_nak(Instant now, std::uint32_t place, const wire::DatagramView& view) noexcept;
  void on_answer(Instant now) noexcept;  // a member answers again
  // The member wants nothing more: its cursor lets go of the log.
  void remove_member(Instant now, std::uint32_t place) noexcept;

  void on_timers(Instant now) noexcept;
  bool defer(Instant now, Duration time) noexcept;
  bool fill(Instant now, TxBatch& out) noexcept;
  void rearm() noexcept;
  // The group is probed if no member receives multicast and it is time to.
  void probe_group(Instant now) noexcept {
    if (transmitter_.probe_group(now)) wake();
  }
  void shrink() noexcept { stream_.log.shrink(); }
  void close() noexcept;

 private:
  void wake() noexcept { context_.scheduler.wake(*this); }
  bool advance(LaneMember& member, Seq next, Seq limit) noexcept;
  void advance_subtree(std::uint32_t place, const wire::CastAck& ack) noexcept;
  void sample_rtt(LaneMember& member, Instant now, const wire::CastAck& ack) noexcept;
  void update(Instant now) noexcept;  // after cursors moved
  void arm_tail(Instant now) noexcept;
  void on_tail(Instant now) noexcept;
  bool lags(const LaneMember& member) const noexcept;

  LaneContext& context_;
  Lane& lane_;
  LaneInfo& info_;
  Audience& audience_;
  LaneStream stream_;
  LanePipe pipe_;
  LaneRepair repair_;
  GoBackN go_back_n_;
  LaneTransmitter transmitter_;
  TailTimer tail_;
  bool starving_ = false;  // room() said no for want of memory
};

}  // namespace herald::rel
