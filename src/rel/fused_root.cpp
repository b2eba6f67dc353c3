// SPDX-License-Identifier: BSD-3-Clause
#include "rel/fused_root.hpp"

#include <algorithm>
#include <cstring>

#include "base/fatal.hpp"
#include "rel/lane_audience.hpp"
#include "rel/lane_source.hpp"

namespace herald::rel {
namespace {

constexpr std::size_t kResultHead = sizeof(wire::DatagramHead) + sizeof(wire::ResultPart);
// Members acknowledge by themselves after a while (fused_member.cpp); then the result is repeated.
constexpr Duration kAckBy = milliseconds(4);
constexpr std::uint8_t kResultsToSuspect = 3;  // repetitions: maybe the result is too long for a link

}  // namespace

FusedRoot::FusedRoot(LaneContext& context, LaneInfo& info, Audience& audience, LaneSource& source) noexcept
    : FusedActor(ActorKind::fused_root, context, info, audience),
      source_(source),
      replies_(info.members.size()) {
  for (Seq i = 0; i < kKnown; ++i) exchanges_[i].number = i - kKnown;
}

// Null: too early to be gathered.
FusedRoot::Exchange* FusedRoot::open(Seq number) noexcept {
  Exchange& exchange = at(number);
  if (exchange.number == number) return &exchange;
  if (exchange.state != Exchange::State::idle || number - announced_end_ >= kKnown) return nullptr;
  exchange.number = number;
  exchange.state = Exchange::State::gathering;
  exchange.lost = std::any_of(audience_.members().begin() + 1, audience_.members().end(),
                              [](const LaneMember& member) { return member.is_gone(); });
  exchange.wanted = exchange.incomplete = false;
  exchange.retry_at = kNever;
  exchange.count = 0;
  exchange.tries = 0;
  exchange.sizes.assign(info_.members.size(), kNotCome);
  return &exchange;
}

Lanes::FusedState FusedRoot::gather(Seq number) noexcept {
  Exchange* const exchange = open(number);
  const std::size_t others = info_.members.size() - 1;
  if (exchange == nullptr) {  // no member may have contributed yet: members that are gone never will
    const bool early = number - announced_end_ >= kKnown;
    return early && audience_.live() < others ? Lanes::FusedState::lost : Lanes::FusedState::pending;
  }
  exchange->wanted = true;
  if (exchange->count == others)
    return exchange->incomplete ? Lanes::FusedState::lost : Lanes::FusedState::complete;
  if (!exchange->lost) return Lanes::FusedState::pending;
  std::size_t never = 0;
  for (std::uint32_t i = 1; i <= others; ++i)
    if (audience_[i].is_gone() && exchange->sizes[i] == kNotCome) ++never;
  return exchange->count + never == others ? Lanes::FusedState::lost : Lanes::FusedState::pending;
}

std::span<const std::byte> FusedRoot::contribution(Seq number, std::size_t place) const noexcept {
  const Exchange& exchange = at(number);
  if (exchange.number != number || exchange.sizes[place] == kNotCome || exchange.sizes[place] == 0) return {};
  return {exchange.contributions.data() + place * wire::kMaxContribution, exchange.sizes[place]};
}

void FusedRoot::announce(Instant now, Seq number, std::span<const std::byte> result,
                         bool incomplete) noexcept {
  Exchange& exchange = at(number);
  HERALD_ASSERT(exchange.number == number && exchange.state == Exchange::State::gathering &&
                result.size() <= wire::kMaxResult);
  exchange.incomplete = incomplete;
  exchange.datagram.resize(kResultHead + result.size());
  wire::ResultPart part;
  part.name = info_.name;
  part.lane_index = info_.index;
  std::memcpy(exchange.datagram.data() + sizeof(wire::DatagramHead), &part, sizeof part);
  if (!result.empty()) std::memcpy(exchange.datagram.data() + kResultHead, result.data(), result.size());
  exchange.count = audience_.live();
  ++context_.counters.results;
  exchange.state = exchange.count == 0 ? Exchange::State::idle : Exchange::State::announced;
  while (at(announced_end_).number == announced_end_ &&
         at(announced_end_).state != Exchange::State::gathering)
    ++announced_end_;
  info_.numbers.on_exchange(announced_end_);
  if (exchange.count == 0) return;
  ++unconfirmed_;
  exchange.due = true;
  exchange.retry_at = now + kAckBy + patience();
  arm(exchange.retry_at);
  wake();
}

// A member has the results of all exchanges before `results_end`.
bool FusedRoot::confirm(std::uint32_t place, Seq results_end) noexcept {
  Replies& replies = replies_[place];
  if (results_end - replies.results_end > kKnown) return false;  // old, or not true
  const Seq before_it = replies.results_end;
  for (; replies.results_end != results_end; ++replies.results_end) {
    Exchange& exchange = at(replies.results_end);
    const bool known = !before(exchange.number, replies.results_end);
    const bool same = exchange.number == replies.results_end;
    if (!known || (same && exchange.state == Exchange::State::gathering))
      break;  // not true: it was not announced yet
    if (!same || exchange.state != Exchange::State::announced || --exchange.count != 0) continue;
    exchange.state = Exchange::State::idle;
    exchange.retry_at = kNever;
    --unconfirmed_;
  }
  if (replies.results_end != before_it) replies.resent = 0;
  return replies.results_end != before_it;
}

bool FusedRoot::on_contribution(Instant now, std::uint32_t place, const wire::DatagramView& view) noexcept {
  const LaneMember& member = audience_[place];
  deferral_.end();
  const bool seen = (view.flags & wire::kFlagMulticastSeen) != 0;
  if (!seen || member.reachability != Reachability::multicast || member.misses != 0)
    audience_.judge(now, place, seen);
  const wire::ContributionView contribution = wire::view_contribution(view.kind, view.body);
  const bool confirms = confirm(place, view.seq - contribution.behind);
  return ((view.flags & wire::kFlagNoContribution) == 0 && take(now, place, view, contribution.data)) ||
         confirms;
}

void FusedRoot::resend(Replies& replies, Seq number) noexcept {
  if (!replies.resend_due || before(replies.resend_to, number)) replies.resend_to = number;
  replies.resend_due = some_replies_ = true;
}

// True: it had not come before.
bool FusedRoot::take(Instant now, std::uint32_t place, const wire::DatagramView& view,
                     std::span<const std::byte> data) noexcept {
  Replies& replies = replies_[place];
  if (data.size() > wire::kMaxContribution || view.seq - replies.results_end >= kFusedAtOnce) return false;
  Exchange* const exchange = open(view.seq);
  if (exchange == nullptr || exchange->state == Exchange::State::idle) return false;
  const bool again = (view.flags & wire::kFlagAskAck) != 0;
  if (exchange->state == Exchange::State::announced) {
    if (!again) return false;  // the result is on its way
    resend(replies, view.seq);
    wake();
    return false;
  }
  const bool fresh = exchange->sizes[place] == kNotCome;
  if (fresh) {
    exchange->incomplete = exchange->incomplete || (view.flags & wire::kFlagIncomplete) != 0;
    exchange->sizes[place] = static_cast<std::uint16_t>(data.size());
    if (++exchange->count == 1) {
      exchange->retry_at = now + patience();
      arm(exchange->retry_at);
    }
    if (!data.empty()) {
      if (exchange->contributions.empty())
        exchange->contributions.resize(info_.members.size() * wire::kMaxContribution);
      std::memcpy(exchange->contributions.data() + place * wire::kMaxContribution, data.data(), data.size());
    }
  }
  if (!again) return fresh;
  replies.ack_due = some_replies_ = true;
  replies.ack_number = view.seq;
  wake();
  return fresh;
}

void FusedRoot::on_member_gone(std::uint32_t place) noexcept {
  Replies& replies = replies_[place];
  for (Exchange& exchange : exchanges_) {
    if (exchange.state == Exchange::State::gathering && exchange.sizes[place] == kNotCome)
      exchange.lost = true;
    if (exchange.state != Exchange::State::announced || before(exchange.number, replies.results_end) ||
        --exchange.count != 0)
      continue;
    exchange.state = Exchange::State::idle;
    --unconfirmed_;
  }
  replies.resend_due = replies.ack_due = false;
}

void FusedRoot::retry(Exchange& exchange, Instant now) noexcept {
  exchange.tries = std::min<std::uint8_t>(exchange.tries + 1, kMaxTries);
  exchange.retry_at = now + retry_delay(exchange.tries);
  wake();
  if (exchange.state == Exchange::State::gathering) {
    remind_ = remind_ || exchange.wanted;
    return;
  }
  for (std::uint32_t place = 1; place < replies_.size(); ++place)
    if (!audience_[place].is_gone() && !before(exchange.number, replies_[place].results_end)) {
      if (exchange.tries > 1) context_.on_unanswered(now, info_.members[place]);
      resend(replies_[place], exchange.number);
    }
}

void FusedRoot::on_answer(Instant now) noexcept {
  for (Exchange& exchange : exchanges_) {
    if (exchange.state == Exchange::State::idle || exchange.tries == 0) continue;
    exchange.tries = 0;
    exchange.retry_at = std::min(exchange.retry_at, now + patience());
    arm(exchange.retry_at);
  }
}

void FusedRoot::on_timers(Instant now) noexcept {
  Instant next = kNever;
  for (Exchange& exchange : exchanges_) {
    if (exchange.state == Exchange::State::idle) continue;
    if (exchange.retry_at <= now) retry(exchange, now);
    next = std::min(next, exchange.retry_at);
  }
  armed_ = next;
}

bool FusedRoot::defer(Instant now, Duration time) noexcept {
  if (!deferral_.may(now, kAckDeferral)) return false;
  deferral_.note(now);
  const Instant later = now + std::max(time, patience());
  for (Exchange& exchange : exchanges_)
    if (exchange.retry_at <= now) exchange.retry_at = later;
  on_timers(now);
  return true;
}

// A datagram of its own, because its tag is another one.
void FusedRoot::emit_to_member(const Exchange& exchange, std::uint32_t place, TxBatch& out) noexcept {
  const std::span<std::byte> all = copies_.emplace_back(exchange.datagram);
  const Destination to = info_.to_member(place);
  context_.seal(to, wire::DatagramKind::result, wire::kFlagAskAck | result_flags(exchange),
                info_.numbers.exchange(exchange.number), all);
  context_.push(to, all, out);
}

void FusedRoot::emit_to_group(Instant now, Exchange& exchange, unsigned flags, TxBatch& out) noexcept {
  const Destination to = info_.to_group();
  context_.seal(to, wire::DatagramKind::result, flags | result_flags(exchange),
                info_.numbers.exchange(exchange.number), exchange.datagram);
  context_.push(to, exchange.datagram, out);
  audience_.note_multicast(now);
}

// To the group, and to each member that receives no multicast. True: there is no room for all.
bool FusedRoot::fill_result(Instant now, Exchange& exchange, TxBatch& out) noexcept {
  if (TxBatch::kMost - out.count < info_.members.size()) return true;
  exchange.due = false;
  if (audience_.multicast_members() != 0) {
    emit_to_group(now, exchange, 0, out);
  } else {
    source_.probe_group(now);
  }
  if (!audience_.needs_unicast()) return false;
  for (std::uint32_t place = 1; place < audience_.size(); ++place)
    if (audience_[place].is_unicast()) emit_to_member(exchange, place, out);
  return false;
}

// The result before the oldest that is not announced, as a question. Before the first no member sleeps.
bool FusedRoot::fill_reminder(Instant now, TxBatch& out) noexcept {
  if (out.full()) return true;
  remind_ = false;
  Exchange& exchange = at(announced_end_ - 1);
  if (exchange.number != announced_end_ - 1 || exchange.datagram.empty() || exchange.due ||
      audience_.multicast_members() == 0)
    return false;
  emit_to_group(now, exchange, wire::kFlagAskAck, out);
  ++context_.counters.fused_resent;
  return false;
}

bool FusedRoot::fill_replies(TxBatch& out) noexcept {
  for (std::uint32_t place = 1; place < replies_.size(); ++place) {
    Replies& replies = replies_[place];
    if (!replies.resend_due && !replies.ack_due) continue;
    if (TxBatch::kMost - out.count <= kKnown) return true;
    for (const Exchange& exchange : exchanges_) {
      if (!replies.resend_due || exchange.state != Exchange::State::announced ||
          before(exchange.number, replies.results_end) || before(replies.resend_to, exchange.number))
        continue;
      if (replies.resent >= kResultsToSuspect)
        context_.suspect_segment(context_.clock, info_.members[place], exchange.datagram.size());
      emit_to_member(exchange, place, out);
      ++context_.counters.fused_resent;
    }
    if (replies.resend_due && replies.resent < UINT8_MAX) ++replies.resent;
    if (replies.ack_due) {
      wire::LanePart part;
      part.name = info_.name;
      context_.emit(info_.to_member(place), wire::DatagramKind::contribution_ack, info_.address_flags(),
                    info_.numbers.exchange(replies.ack_number), part, out);
      ++context_.counters.fused_resent;
    }
    replies.resend_due = replies.ack_due = false;
  }
  some_replies_ = false;
  return false;
}

bool FusedRoot::fill(Instant now, TxBatch& out) noexcept {
  copies_.clear();
  bool more = false;
  for (Exchange& exchange : exchanges_)
    if (exchange.due) more = fill_result(now, exchange, out) || more;
  if (some_replies_) more = fill_replies(out) || more;
  if (remind_) more = fill_reminder(now, out) || more;
  return more;
}

}  // namespace herald::rel
