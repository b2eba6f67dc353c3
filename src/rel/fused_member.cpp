// SPDX-License-Identifier: BSD-3-Clause
#include "rel/fused_member.hpp"

#include <algorithm>
#include <cstring>

#include "base/fatal.hpp"
#include "wire/compact.hpp"

namespace herald::rel {
namespace {

constexpr std::size_t kContributionHead = sizeof(wire::DatagramHead) + sizeof(wire::ContributionPart);
// A result is acknowledged by itself after so long, unless the next contribution does.
constexpr Duration kAckAfter = milliseconds(2);
// A member whose contribution was acknowledged waits longer: the root will announce, and repeat it.
constexpr int kAckedPatience = 16;  // times as long
constexpr Duration kMaxAckedPatience = milliseconds(250);

}  // namespace

FusedMember::FusedMember(LaneContext& context, LaneInfo& info, Audience& audience) noexcept
    : FusedActor(ActorKind::fused_member, context, info, audience) {
  for (Seq i = 0; i < kFusedAtOnce; ++i) contributions_[i].number = i - kFusedAtOnce;
}

bool FusedMember::contribute(Seq number, std::span<const std::byte> data, bool incomplete) noexcept {
  Contribution& one = at(number);
  HERALD_ASSERT(info_.me != 0 && data.size() <= wire::kMaxContribution);
  if (one.state != Contribution::State::idle || number - results_end_ >= kFusedAtOnce) return false;
  one.state = Contribution::State::open;
  one.number = number;
  one.acked = false;
  one.incomplete = incomplete;
  one.tries = 0;
  one.due = true;
  one.datagram.resize(kContributionHead + data.size());
  if (!data.empty()) std::memcpy(one.datagram.data() + kContributionHead, data.data(), data.size());
  ++context_.counters.contributions;
  wake();
  return true;
}

const std::vector<std::byte>* FusedMember::result(Seq number) const noexcept {
  const Contribution& one = at(number);
  return one.number == number && one.state == Contribution::State::answered ? &one.result : nullptr;
}

void FusedMember::take_result(Seq number) noexcept {
  Contribution& one = at(number);
  if (one.number == number && one.state == Contribution::State::answered)
    one.state = Contribution::State::idle;
}

bool FusedMember::on_result(Instant now, bool by_group, const wire::DatagramView& view) noexcept {
  multicast_seen_ = multicast_seen_ || by_group;
  Contribution& one = at(view.seq);
  if (!one.is_open(view.seq)) {
    if ((view.flags & wire::kFlagAskAck) == 0) return false;
    ack_now_ = !repeat_unacked(now);
    wake();
    return false;
  }
  lane_index_ = wire::part_at<wire::ResultPart>(view.body).lane_index;
  const auto result = view.body.subspan(sizeof(wire::ResultPart));
  one.result.assign(result.begin(), result.end());
  one.result_incomplete = (view.flags & wire::kFlagIncomplete) != 0;
  one.state = Contribution::State::answered;
  one.retry_at = kNever;
  one.due = false;
  deferral_.end();
  while (at(results_end_).number == results_end_ && at(results_end_).state != Contribution::State::open)
    ++results_end_;
  info_.numbers.on_exchange(results_end_);
  ack_at_ = now + kAckAfter;
  arm(ack_at_);
  return true;
}

bool FusedMember::on_contribution_ack(Instant now, const wire::DatagramView& view) noexcept {
  Contribution& one = at(view.seq);
  if (!one.is_open(view.seq)) return false;
  const bool news = !one.acked;
  if (one.tries == 2 && news) rtt_ = now - one.sent_at;
  one.acked = true;
  const Duration wait{kAckedPatience * patience().ns << std::min(one.tries, kMaxTries)};
  one.retry_at = now + std::min(wait, kMaxAckedPatience);
  return news;
}

// The root asks: true if there are contributions that it may not have.
bool FusedMember::repeat_unacked(Instant now) noexcept {
  bool some = false;
  for (Contribution& one : contributions_) {
    if (one.state != Contribution::State::open || one.acked || one.tries == 0) continue;
    if (now - one.sent_at >= Duration{patience().ns / 2}) one.due = true;
    some = true;
  }
  return some;
}

void FusedMember::on_timers(Instant now) noexcept {
  Instant next = kNever;
  for (Contribution& one : contributions_) {
    if (one.state != Contribution::State::open) continue;
    if (one.retry_at <= now) {
      if (one.tries > 1 && !one.acked) context_.on_unanswered(now, info_.members.front());
      one.due = true;
      one.retry_at = now + retry_delay(one.tries);
      wake();
    }
    next = std::min(next, one.retry_at);
  }
  if (ack_at_ <= now) {
    ack_now_ = true;
    ack_at_ = kNever;
    wake();
  }
  armed_ = std::min(next, ack_at_);
}

void FusedMember::on_answer(Instant now) noexcept {
  for (Contribution& one : contributions_) {
    if (one.state != Contribution::State::open || one.tries == 0 || one.acked) continue;
    one.tries = 1;
    one.retry_at = std::min(one.retry_at, now + patience());
    arm(one.retry_at);
  }
}

bool FusedMember::defer(Instant now, Duration time) noexcept {
  if (!deferral_.may(now, kAckDeferral)) return false;
  deferral_.note(now);
  const Instant later = now + std::max(time, patience());
  if (ack_at_ <= now) ack_at_ = later;
  for (Contribution& one : contributions_)
    if (one.retry_at <= now) one.retry_at = later;
  on_timers(now);
  return true;
}

unsigned FusedMember::common_flags() const noexcept {
  return (multicast_seen_ ? wire::kFlagMulticastSeen : 0u) | info_.address_flags();
}

void FusedMember::on_acked() noexcept {
  multicast_seen_ = ack_now_ = false;
  acked_end_ = results_end_;
  ack_at_ = kNever;
}

// With the lane's name: the lane may not be open at the root yet, or not any more.
std::span<std::byte> FusedMember::write_whole(Contribution& one, unsigned flags) const noexcept {
  wire::ContributionPart part;
  part.name = info_.name;
  part.behind = static_cast<std::uint8_t>(one.number - results_end_);  // less than kFusedAtOnce
  const std::span<std::byte> all = one.datagram;
  std::memcpy(all.data() + sizeof(wire::DatagramHead), &part, sizeof part);
  context_.seal(info_.to_member(0), wire::DatagramKind::contribution, flags,
                info_.numbers.exchange(one.number), all);
  return all;
}

std::span<std::byte> FusedMember::write_compact(Contribution& one, unsigned flags) const noexcept {
  static_assert(wire::kMaxFusedMembers <= wire::kMaxCompactPlace + 1);
  const std::span<std::byte> all =
      std::span<std::byte>(one.datagram).subspan(kContributionHead - sizeof(wire::CompactHead));
  wire::write_compact(context_.config.seal, info_.to_member(0).seal, info_.name,
                      {static_cast<std::uint8_t>(flags), lane_index_, static_cast<std::uint8_t>(info_.me),
                       info_.numbers.exchange(one.number)},
                      all);
  return all;
}

void FusedMember::emit(Instant now, Contribution& one, TxBatch& out) noexcept {
  const bool first = one.tries == 0;
  const bool compact = first && !one.incomplete && lane_index_ != 0 && one.number == results_end_;
  const unsigned flags =
      (first ? 0u : wire::kFlagAskAck) | (one.incomplete ? wire::kFlagIncomplete : 0u) | common_flags();
  context_.push(info_.to_member(0), compact ? write_compact(one, flags) : write_whole(one, flags), out);
  if (first) {
    one.retry_at = now + patience();
  } else {
    ++context_.counters.fused_resent;
  }
  if (one.tries < 255) ++one.tries;
  one.due = false;
  one.sent_at = now;
  on_acked();
  arm(one.retry_at);
}

void FusedMember::emit_ack(TxBatch& out) noexcept {
  wire::ContributionPart part;
  part.name = info_.name;
  part.behind = 0;
  context_.emit(info_.to_member(0), wire::DatagramKind::contribution,
                wire::kFlagNoContribution | common_flags(), info_.numbers.exchange(results_end_), part, out);
  ++context_.counters.acks_sent;
  on_acked();
}

bool FusedMember::fill(Instant now, TxBatch& out) noexcept {
  for (Contribution& one : contributions_) {
    if (!one.due) continue;
    if (out.full()) return true;
    emit(now, one, out);
  }
  if (!ack_now_) return false;
  if (out.full()) return true;
  emit_ack(out);
  return false;
}

}  // namespace herald::rel
