// SPDX-License-Identifier: BSD-3-Clause
// rel/lane_acks.hpp: acknowledgements of another member's stream: one for many packets, with credit for more.
// In a large lane they go up a tree (rel/lane_tree.hpp), each for all members below its sender.
// Timers: the ack that is owed; in a tree, the ack that waits for members below.
#pragma once
#include <cstdint>
#include <memory>

#include "rel/deferred_timers.hpp"
#include "rel/lane_context.hpp"
#include "rel/reorder.hpp"

namespace herald::rel {

// The stream of another member, as far as it has come.
struct InboundStream {
  Reorder reorder;
  Seq next = kFirstCast;        // all before this one have come
  Seq delivered = kFirstCast;   // all before this one were delivered
  Seq top = kFirstCast;         // after the highest that has come
  Seq end = kFirstCast;         // after the highest that is known to exist
  Duration rtt{}, base{};       // as told by the source; 0: not known
  bool direct = false;          // the source wants acks itself, not up the tree
  bool multicast_seen = false;  // since the last ack to the source
  bool refused = false;         // by the listener, since the last ack
};

class LaneAcks {
 public:
  LaneAcks(LaneContext& context, const LaneInfo& info, InboundStream& stream, std::uint16_t source,
           LaneActor& receiver) noexcept;

  Seq limit() const noexcept { return limit_; }
  std::uint16_t unacked() const noexcept { return unacked_; }
  Instant deadline() const noexcept { return std::min(ack_due_, tree_due_); }

  // A new packet; owe() after the last one of a train.
  void on_packet(Instant now, Seq seq, bool small) noexcept {
    newest_ = seq;
    newest_at_ = now;
    small_ = small;
    ++unacked_;
  }
  void owe(Instant now) noexcept;
  void send_now(bool to_source) noexcept;
  // The listener has taken packets that it had refused: the source may wait for credit.
  void on_taken() noexcept;
  // From a member below us in the tree of the source.
  void on_child_ack(Instant now, std::uint32_t place, const wire::CastAck& ack) noexcept;
  // False: no ack is owed that may ride on a cast.
  bool write_row(wire::AckRow& row) noexcept;

  void on_timers(Instant now) noexcept;
  bool defer(Instant now, Duration time) noexcept;
  bool fill(Instant now, TxBatch& out) noexcept;
  void stop() noexcept;

 private:
  struct Progress {
    Seq next = kFirstCast, limit = kFirstCast;
  };
  bool uses_tree() const noexcept { return info_.tree && !stream_.direct; }
  Duration hold() const noexcept {
    return std::clamp(context_.known_or_first(stream_.rtt), kMinAckDelay, kMaxAckDelay);
  }
  void grant() noexcept;
  void on_sent() noexcept;
  Progress all_below() const noexcept;  // ourselves included
  void emit(Instant now, TxBatch& out) noexcept;

  LaneContext& context_;
  const LaneInfo& info_;
  InboundStream& stream_;
  LaneActor& receiver_;
  const std::uint16_t source_;
  std::uint16_t unacked_ = 0;    // packets since the last ack
  Seq limit_;                    // credit granted
  Seq acked_next_ = kFirstCast;  // `next` of the last ack
  Seq newest_ = kFirstCast - 1;  // the packet that came last
  Instant newest_at_{};
  Instant unacked_since_ = kNever;
  Instant ack_due_ = kNever;
  Instant tree_due_ = kNever;             // the ack that waits for members below us, or tells more of them
  std::unique_ptr<Progress[]> children_;  // tree
  Seq acked_below_ = kFirstCast;          // tree: `next` of all below us in the last ack
  Seq goal_ = kFirstCast;                 // tree: the ack leaves when all below us have those before this one
  DeferredTimers deferral_;
  bool ack_now_ = false;
  bool answer_ = false;  // ack_now: to the source itself, whatever the tree
  bool waited_ = false;  // tree: for members below us
  bool rides_ = false;   // the last ack went with a cast of ours
  bool small_ = false;   // the last packet was
};

}  // namespace herald::rel
