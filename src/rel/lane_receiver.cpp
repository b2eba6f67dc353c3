// SPDX-License-Identifier: BSD-3-Clause
#include "rel/lane_receiver.hpp"

#include <algorithm>
#include <utility>

#include "rel/lane_audience.hpp"
#include "rel/lane_baselines.hpp"

namespace herald::rel {
namespace {

constexpr Duration kRetryDelivery = milliseconds(10);  // redeliver() is sooner
constexpr std::uint16_t kLossRow = 128;                // packets
constexpr std::uint32_t kMuchLoss = 25;                // percent

}  // namespace

std::uint32_t LossMeter::count(bool missed) noexcept {
  if (missed) ++missed_;
  if (++packets_ < kLossRow) return 0;
  const std::uint32_t percent = missed_ * 100u / kLossRow;
  const bool much = percent >= kMuchLoss && missed_ != kLossRow;
  const bool again = much && lossy_;
  lossy_ = much;
  packets_ = missed_ = 0;
  return again ? percent : 0;
}

LaneReceiver::LaneReceiver(LaneContext& context, LaneInfo& info, const Audience& audience,
                           std::uint16_t source) noexcept
    : LaneActor(ActorKind::receiver),
      context_(context),
      info_(info),
      audience_(audience),
      source_(source),
      acks_(context, info, stream_, source, *this),
      naks_(context, info, stream_, source, *this) {
  ++context.receivers;
}

void LaneReceiver::note_source(bool by_group, std::uint8_t flags, const wire::LanePart& part) noexcept {
  if (part.rtt_us != 0) stream_.rtt = microseconds(part.rtt_us);
  if (part.base_us != 0) stream_.base = microseconds(part.base_us);
  stream_.direct = (flags & wire::kFlagDirect) != 0;
  if (by_group) stream_.multicast_seen = true;
}

// False: the listener does not take the packet now.
bool LaneReceiver::deliver(Instant now, std::span<const std::byte> packet) noexcept {
  if (info_.closing) return false;
  const Status status = context_.listener.call(
      [&](LaneListener& listener) { return listener.deliver(info_.id, info_.members[source_], packet); });
  if (status == Status::ok) {
    ++stream_.delivered;
    redeliver_at_ = kNever;
    return true;
  }
  stream_.refused = true;
  redeliver_at_ = now + kRetryDelivery;
  return false;
}

void LaneReceiver::redeliver(Instant now) noexcept {
  redeliver_at_ = kNever;
  const Seq first = stream_.delivered;
  while (stream_.delivered != stream_.next && stream_.reorder.has(stream_.delivered)) {
    const Seq seq = stream_.delivered;
    const Reorder::Taken taken = stream_.reorder.take(seq);
    if (!deliver(now, {context_.reorder_pool.at(taken.slot), taken.bytes})) {
      stream_.reorder.put_back(seq, taken);
      break;
    }
    context_.reorder_pool.give(taken.slot);
  }
  if (stream_.refused && stream_.delivered != first) acks_.on_taken();
  rearm();
}

// A packet that is new. False: there is no room for it; as if it had been lost.
bool LaneReceiver::accept(Instant now, Seq seq, std::span<const std::byte> packet) noexcept {
  if (seq == stream_.next && stream_.delivered == stream_.next && deliver(now, packet)) {
    ++stream_.next;
  } else {
    const std::uint32_t ahead = seq - stream_.delivered;
    if (context_.is_go_back_n() && seq != stream_.next) return false;
    if (ahead >= Reorder::kMost || !stream_.reorder.keep(seq, ahead, 0, packet, context_.reorder_pool))
      return false;
    if (seq == stream_.next) ++stream_.next;
  }
  while (stream_.reorder.has(stream_.next)) ++stream_.next;
  if (before(stream_.top, seq + 1)) stream_.top = seq + 1;
  if (before(stream_.end, stream_.top)) stream_.end = stream_.top;
  if (!has_refused() && stream_.delivered != stream_.next) redeliver(now);
  return true;
}

void LaneReceiver::judge_loss(bool missed) noexcept {
  if (missed) ++context_.counters.missed;
  const std::uint32_t percent = loss_.count(missed);
  if (percent == 0 || info_.closing) return;
  context_.listener.call(
      [&](LaneListener& listener) { listener.losing_multicast(info_.id, info_.members[source_], percent); });
}

// push_pull: only the designated member answers a question to the group.
bool LaneReceiver::answers(bool by_group) const noexcept {
  return context_.config.mode != LaneMode::push_pull || !by_group ||
         designated_member(info_, audience_, source_) == info_.me;
}

bool LaneReceiver::on_cast(Instant now, bool by_group, const wire::DatagramView& view,
                           const wire::CastView& cast) noexcept {
  note_source(by_group, view.flags, *cast.lane);
  const Seq seq = view.seq;
  if (audience_[source_].silent && !before(seq, stream_.next)) return false;
  const bool asks = (view.flags & wire::kFlagAskAck) != 0;
  const bool missed = !by_group || before(seq, stream_.top);  // repaired, or out of order
  bool news = false;
  if (before(seq, stream_.next) || stream_.reorder.has(seq)) {
    ++context_.counters.duplicates;
    if (!by_group || asks) acks_.owe(now);  // the source may not know that we have it
  } else if (before(seq, acks_.limit()) && accept(now, seq, cast.packet)) {
    news = true;
    info_.numbers.on_cast(source_, seq);
    ++context_.counters.received;
    acks_.on_packet(now, seq, cast.packet.size() <= kSmallPacket);
    owes_ = true;
    judge_loss(missed);
  }
  // push_pull: a packet out of order was not kept, but tells of a hole.
  if (context_.config.mode == LaneMode::push_pull && before(stream_.end, seq + 1) &&
      seq - stream_.next < context_.window)
    stream_.end = seq + 1;
  if (asks && answers(by_group)) acks_.send_now(!by_group);
  return news;
}

void LaneReceiver::settle(Instant now) noexcept {
  if (std::exchange(owes_, false)) acks_.owe(now);
  naks_.find_holes(now);
  rearm();
}

bool LaneReceiver::on_ask(Instant now, bool by_group, const wire::DatagramView& view) noexcept {
  note_source(by_group, view.flags, wire::part_at<wire::LanePart>(view.body));
  const bool news = before(stream_.end, view.seq) && view.seq - stream_.next <= Reorder::kMost;
  if (news) stream_.end = view.seq;
  if ((view.flags & wire::kFlagAskAck) != 0 && answers(by_group)) acks_.send_now(!by_group);
  naks_.find_holes(now);
  naks_.on_ask(now);
  rearm();
  return news;
}

void LaneReceiver::on_child_ack(Instant now, std::uint32_t place, const wire::CastAck& ack) noexcept {
  acks_.on_child_ack(now, place, ack);
  rearm();
}

void LaneReceiver::on_answer(Instant now) noexcept {
  naks_.on_answer(now);
  rearm();
}

bool LaneReceiver::write_ack_row(wire::AckRow& row) noexcept {
  if (!acks_.write_row(row)) return false;
  rearm();
  return true;
}

void LaneReceiver::on_timers(Instant now) noexcept {
  if (redeliver_at_ <= now) redeliver(now);
  acks_.on_timers(now);
  naks_.on_timers(now);
}

bool LaneReceiver::fill(Instant now, TxBatch& out) noexcept {
  return naks_.fill(now, out) || acks_.fill(now, out);
}

void LaneReceiver::rearm() noexcept {
  context_.scheduler.set_deadline(*this, std::min({acks_.deadline(), naks_.deadline(), redeliver_at_}));
}

void LaneReceiver::on_source_lost() noexcept {
  acks_.stop();
  naks_.stop();
  stream_.end = stream_.next;
  for (Seq seq = stream_.next; before(seq, stream_.top); ++seq)  // the holes before them stay
    if (stream_.reorder.has(seq)) context_.reorder_pool.give(stream_.reorder.take(seq).slot);
  rearm();
}

void LaneReceiver::close() noexcept {
  stream_.reorder.clear(context_.reorder_pool);
  context_.scheduler.remove(*this);
  --context_.receivers;
}

}  // namespace herald::rel
