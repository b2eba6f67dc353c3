// SPDX-License-Identifier: BSD-3-Clause
#include "rel/lane_naks.hpp"

namespace herald::rel {
namespace {

constexpr Duration kMinGrace = microseconds(10);
constexpr Duration kMaxBetweenNaks = milliseconds(20);
constexpr std::uint8_t kMaxRepeats = 4;  // that lengthen the interval

}  // namespace

// The more members may ask for the same, the longer we wait.
Duration LaneNaks::grace() noexcept {
  const std::int64_t base = context_.known_or_first(stream_.base).ns;
  const auto members = static_cast<std::int64_t>(info_.members.size());
  const std::int64_t spread = std::min(base / 8 + base * members / 64, 2 * base);
  const std::int64_t least = std::max(kMinGrace.ns, base / 16);
  const auto below = static_cast<std::uint64_t>(std::max<std::int64_t>(1, spread));
  return {least + static_cast<std::int64_t>(context_.prng.below(below))};
}

void LaneNaks::find_holes(Instant now) noexcept {
  if (context_.config.mode == LaneMode::simple) return;  // the source finds out
  if (stream_.next == stream_.end) {
    if (grace_at_ != kNever) ++context_.counters.naks_suppressed;
    grace_at_ = repeat_at_ = kNever;
    asked_end_ = grace_end_ = stream_.next;
    nak_from_ = nak_to_ = stream_.next;
    repeats_ = 0;
    return;
  }
  if (before(asked_end_, stream_.next)) asked_end_ = stream_.next;
  if (grace_at_ != kNever && !before(stream_.next, grace_end_)) {  // those have come
    grace_at_ = kNever;
    ++context_.counters.naks_suppressed;
  }
  if (repeat_at_ != kNever && !before(stream_.next, asked_end_)) {
    repeat_at_ = kNever;
    repeats_ = 0;
  }
  if (grace_at_ != kNever || !before(asked_end_, stream_.end)) return;
  Seq seq = asked_end_;
  while (seq != stream_.end && stream_.reorder.has(seq)) ++seq;
  if (seq == stream_.end) return;
  grace_end_ = stream_.end;
  grace_at_ = now + grace();
}

void LaneNaks::on_ask(Instant now) noexcept {
  if (repeat_at_ != kNever && now - asked_at_ >= context_.known_or_first(stream_.base))
    repeat_at_ = std::min(repeat_at_, now + grace());
}

void LaneNaks::on_answer(Instant now) noexcept {
  if (repeat_at_ == kNever) return;
  repeats_ = 0;
  repeat_at_ = std::min(repeat_at_, now + grace());
}

void LaneNaks::on_timers(Instant now) noexcept {
  const std::int64_t rtt = context_.known_or_first(stream_.rtt).ns;
  if (grace_at_ <= now) {
    if (nak_from_ == nak_to_) nak_from_ = asked_end_;
    nak_to_ = asked_end_ = grace_end_;
    grace_at_ = kNever;
    if (repeat_at_ == kNever) repeat_at_ = now + Duration{std::min(3 * rtt / 2, kMaxBetweenNaks.ns)};
    find_holes(now);
    context_.scheduler.wake(receiver_);
  }
  if (repeat_at_ <= now) {
    nak_from_ = stream_.next;
    nak_to_ = asked_end_;
    repeats_ = stream_.next != repeat_next_ ? 0 : std::min<std::uint8_t>(repeats_ + 1, kMaxRepeats);
    repeat_next_ = stream_.next;
    if (repeats_ > 1) context_.on_unanswered(now, info_.members[source_]);
    const std::int64_t wait = std::min((3 * rtt / 2) << repeats_, kMaxBetweenNaks.ns);
    const auto jitter =
        static_cast<std::int64_t>(context_.prng.below(static_cast<std::uint64_t>(rtt / 4 + 1)));
    repeat_at_ = now + Duration{wait + jitter};
    context_.scheduler.wake(receiver_);
  }
}

bool LaneNaks::fill(Instant now, TxBatch& out) noexcept {
  while (nak_from_ != nak_to_) {
    if (out.full()) return true;
    emit(now, out);
  }
  return false;
}

// As many of the holes as one datagram names.
void LaneNaks::emit(Instant now, TxBatch& out) noexcept {
  struct {
    wire::CastNak nak;
    wire::NakRange ranges[wire::kMaxNakRanges];
  } body;
  std::size_t count = 0;
  Seq seq = before(nak_from_, stream_.next) ? stream_.next : nak_from_;
  while (before(seq, nak_to_) && count < wire::kMaxNakRanges) {
    if (stream_.reorder.has(seq)) {
      ++seq;
      continue;
    }
    const Seq first = seq;
    while (before(seq, nak_to_) && !stream_.reorder.has(seq)) ++seq;
    body.ranges[count].first = static_cast<std::uint16_t>(first - stream_.next);
    body.ranges[count].count = static_cast<std::uint16_t>(seq - first);
    ++count;
  }
  nak_from_ = seq;
  if (!before(seq, nak_to_)) nak_to_ = nak_from_;
  if (count == 0) return;
  body.nak.name = info_.name;
  body.nak.source = static_cast<std::uint32_t>(info_.members[source_]);
  body.nak.end = stream_.top;
  context_.emit_bytes(
      info_.to_member(source_), wire::DatagramKind::cast_nak,
      (stream_.multicast_seen ? wire::kFlagMulticastSeen : 0u) | info_.address_flags(),
      info_.numbers.cast(source_, stream_.next),
      {reinterpret_cast<const std::byte*>(&body), sizeof body.nak + count * sizeof(wire::NakRange)}, out);
  ++context_.counters.naks_sent;
  asked_at_ = now;
}

void LaneNaks::stop() noexcept {
  grace_at_ = repeat_at_ = kNever;
  nak_to_ = nak_from_;
}

}  // namespace herald::rel
