// SPDX-License-Identifier: BSD-3-Clause
// rel/lane_receiver.hpp: the stream of another member: each packet is delivered once and in order.
// In:  casts and questions of the source. Out: packets for the listener; acks (rel/lane_acks.hpp), NAKs
// (rel/lane_naks.hpp). Timers: theirs, and packets that the listener refused.
#pragma once
#include <cstdint>
#include <span>

#include "rel/lane_acks.hpp"
#include "rel/lane_naks.hpp"

namespace herald::rel {

class Audience;

// Which share of a source's multicast does not arrive, judged by rows of packets.
class LossMeter {
 public:
  // Percent, if two rows one after the other lost much; 0: not so. All lost is not a loss but no multicast at
  // all, which the source notices.
  std::uint32_t count(bool missed) noexcept;

 private:
  std::uint16_t packets_ = 0, missed_ = 0;
  bool lossy_ = false;  // the last row was
};

class LaneReceiver final : public LaneActor {
 public:
  LaneReceiver(LaneContext& context, LaneInfo& info, const Audience& audience, std::uint16_t source) noexcept;

  // settle() must follow, once for several casts that came together.
  bool on_cast(Instant now, bool by_group, const wire::DatagramView& view,
               const wire::CastView& cast) noexcept;
  void settle(Instant now) noexcept;
  bool on_ask(Instant now, bool by_group, const wire::DatagramView& view) noexcept;
  void on_child_ack(Instant now, std::uint32_t place, const wire::CastAck& ack) noexcept;
  void on_answer(Instant now) noexcept;  // the source answers again
  bool write_ack_row(wire::AckRow& row) noexcept;
  bool owes_ack() const noexcept { return acks_.unacked() != 0; }
  bool has_refused() const noexcept { return redeliver_at_ != kNever; }
  void redeliver(Instant now) noexcept;

  void on_timers(Instant now) noexcept;
  bool defer(Instant now, Duration time) noexcept { return acks_.defer(now, time); }
  bool fill(Instant now, TxBatch& out) noexcept;
  void rearm() noexcept;
  void on_source_lost() noexcept;
  void shrink() noexcept { stream_.reorder.shrink(); }
  void close() noexcept;

 private:
  void note_source(bool by_group, std::uint8_t flags, const wire::LanePart& part) noexcept;
  bool accept(Instant now, Seq seq, std::span<const std::byte> packet) noexcept;
  bool deliver(Instant now, std::span<const std::byte> packet) noexcept;
  void judge_loss(bool missed) noexcept;
  bool answers(bool by_group) const noexcept;

  LaneContext& context_;
  LaneInfo& info_;
  const Audience& audience_;
  const std::uint16_t source_;
  InboundStream stream_;
  LaneAcks acks_;
  LaneNaks naks_;
  LossMeter loss_;
  bool owes_ = false;              // a packet came since settle()
  Instant redeliver_at_ = kNever;  // the listener refused a packet
};

}  // namespace herald::rel
