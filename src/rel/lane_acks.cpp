// SPDX-License-Identifier: BSD-3-Clause
#include "rel/lane_acks.hpp"

#include <algorithm>

#include "rel/cursor.hpp"

namespace herald::rel {

LaneAcks::LaneAcks(LaneContext& context, const LaneInfo& info, InboundStream& stream, std::uint16_t source,
                   LaneActor& receiver) noexcept
    : context_(context),
      info_(info),
      stream_(stream),
      receiver_(receiver),
      source_(source),
      limit_(kFirstCast + context.first_window()) {
  const std::uint32_t children = info.tree ? info.tree_of(source).children(info.me) : 0;
  if (children != 0) children_ = std::make_unique<Progress[]>(children);
}

// Packets that the listener has not taken yet must fit into our memory, for all sources together.
void LaneAcks::grant() noexcept {
  const std::uint64_t slots = context_.config.kept_bytes / context_.reorder_pool.slot_bytes();
  const auto share = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(slots / std::max(1u, context_.receivers), context_.granted));
  const Seq limit = stream_.delivered + std::max(share, kMinWindow);
  if (before(limit_, limit)) limit_ = limit;
}

void LaneAcks::owe(Instant now) noexcept {
  // The second condition: a hole is filled that may have held up the source.
  const std::uint32_t many = std::max(1u, context_.granted / 4);
  if (unacked_ >= many || stream_.next - acked_next_ >= many) {
    if (!waited_) send_now(false);
    return;
  }
  const Duration rtt = hold();
  if (unacked_since_ == kNever) unacked_since_ = now;
  const std::int64_t wait = rides_ ? 2 * rtt.ns : rtt.ns;
  const auto jitter =
      static_cast<std::int64_t>(context_.prng.below(static_cast<std::uint64_t>(rtt.ns / 2 + 1)));
  const Instant quiet = now + Duration{wait + jitter};
  ack_due_ = std::min(quiet, unacked_since_ + longest_hold(rtt, uses_tree() ? 6 : 3, small_));
}

void LaneAcks::send_now(bool to_source) noexcept {
  ack_now_ = true;
  answer_ = answer_ || to_source;
  context_.scheduler.wake(receiver_);
}

void LaneAcks::on_taken() noexcept {
  const Seq old_limit = limit_;
  grant();
  if (stream_.delivered == stream_.next || limit_ - old_limit >= std::max(1u, context_.granted / 4))
    send_now(true);
}

void LaneAcks::on_sent() noexcept {
  unacked_ = 0;
  acked_next_ = stream_.next;
  unacked_since_ = ack_due_ = tree_due_ = kNever;
  ack_now_ = answer_ = rides_ = waited_ = false;
  deferral_.end();
  stream_.refused = stream_.delivered != stream_.next;  // an ack follows when they are taken
}

LaneAcks::Progress LaneAcks::all_below() const noexcept {
  Progress all{stream_.next, limit_};
  if (children_ == nullptr) return all;
  const std::uint32_t children = info_.tree_of(source_).children(info_.me);
  for (std::uint32_t i = 0; i < children; ++i) {
    if (before(children_[i].next, all.next)) all.next = children_[i].next;
    if (before(children_[i].limit, all.limit)) all.limit = children_[i].limit;
  }
  return all;
}

void LaneAcks::on_child_ack(Instant now, std::uint32_t place, const wire::CastAck& ack) noexcept {
  Progress& child = children_[info_.tree_of(source_).branch(place)];
  if (before(child.next, ack.all_next)) child.next = ack.all_next;
  if (before(child.limit, ack.all_credit)) child.limit = ack.all_credit;
  const Progress all = all_below();
  if (!before(acked_below_, all.next)) return;
  if (all.next == stream_.next || (waited_ && !before(all.next, goal_))) {
    send_now(false);  // all below us have what the ack waited for
  } else {
    tree_due_ = std::min(tree_due_, now + context_.known_or_first(stream_.base));
  }
}

bool LaneAcks::write_row(wire::AckRow& row) noexcept {
  if (unacked_ == 0 || answer_ || stream_.next != stream_.end) return false;
  grant();
  row.next = stream_.next;
  row.member = source_;
  row.credit = static_cast<std::uint16_t>((limit_ - stream_.next) |
                                          (stream_.multicast_seen ? wire::kRowMulticastSeen : 0u));
  on_sent();
  stream_.multicast_seen = false;
  rides_ = true;
  return true;
}

void LaneAcks::on_timers(Instant now) noexcept {
  if (deadline() > now) return;
  ack_due_ = tree_due_ = kNever;
  ack_now_ = waited_ = true;
  context_.scheduler.wake(receiver_);
}

bool LaneAcks::defer(Instant now, Duration time) noexcept {
  if (now < ack_due_ || !deferral_.may(now, kAckDeferral)) return false;
  deferral_.note(now);
  ack_due_ = now + std::max(time, hold());
  return true;
}

bool LaneAcks::fill(Instant now, TxBatch& out) noexcept {
  if (!ack_now_) return false;
  if (uses_tree() && !answer_ && !waited_ && all_below().next != stream_.next) {
    ack_now_ = false;  // members below us may acknowledge soon
    waited_ = true;
    goal_ = stream_.next;
    tree_due_ = now + context_.known_or_first(stream_.base);
    return false;
  }
  if (out.full()) return true;
  emit(now, out);
  return false;
}

void LaneAcks::emit(Instant now, TxBatch& out) noexcept {
  const bool up_tree = uses_tree() && !answer_;
  grant();
  const Progress all = uses_tree() ? all_below() : Progress{};
  wire::CastAck ack;
  ack.name = info_.name;
  ack.source = static_cast<std::uint32_t>(info_.members[source_]);
  ack.credit = limit_;
  std::uint64_t holes = 0;
  for (std::uint32_t i = 0; i < Cursor::kReach && before(stream_.next + 1 + i, stream_.top); ++i)
    if (stream_.reorder.has(stream_.next + 1 + i)) holes |= 1ull << i;
  ack.holes = holes;
  ack.newest = newest_;
  ack.delay_us =
      static_cast<std::uint32_t>(std::clamp<std::int64_t>((now - newest_at_).ns / 1000, 0, UINT32_MAX));
  ack.all_next = all.next;
  ack.all_credit = all.limit;
  const std::uint32_t to = up_tree ? info_.tree_of(source_).parent(info_.me) : source_;
  context_.emit(info_.to_member(to), wire::DatagramKind::cast_ack,
                (stream_.multicast_seen ? wire::kFlagMulticastSeen : 0u) | info_.address_flags(),
                info_.numbers.cast(source_, stream_.next), ack, out);
  ++context_.counters.acks_sent;
  on_sent();
  // Only the source judges by this flag whether multicast arrives here, so only an ack to it clears the flag.
  if (up_tree)
    acked_below_ = all.next;
  else
    stream_.multicast_seen = false;
}

void LaneAcks::stop() noexcept {
  ack_due_ = tree_due_ = kNever;
  ack_now_ = false;
}

}  // namespace herald::rel
