// SPDX-License-Identifier: BSD-3-Clause
#include "rel/lane_source.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/fatal.hpp"
#include "rel/lane.hpp"

namespace herald::rel {
namespace {

constexpr std::uint32_t kAskAll = 3;         // so many members that lag are asked by multicast first
constexpr std::uint8_t kCastsToSuspect = 4;  // transmissions: maybe the cast is too long for a link

constexpr int kMostPutOff = 4;  // times the usual delay

}  // namespace

void TailTimer::arm(const LaneStream& stream, const Delays& delays) noexcept {
  if (asks_ == 0) {
    const Instant at = std::min(stream.last_tx + delays.quiet, stream.oldest_at + delays.quiet + delays.hold);
    at_ = std::max(at, deferred_until_);
    return;
  }
  // Answers that keep coming put off the next question for a while only.
  if (asks_ == 1) {
    at_ = std::min(answered_at_ + delays.quiet, asked_at_ + Duration{kMostPutOff * delays.quiet.ns});
    return;
  }
  at_ = answered_at_ + std::min(Duration{delays.quiet.ns << std::min<int>(asks_ - 1, 10)}, delays.longest);
}

LaneSource::LaneSource(LaneContext& context, Lane& lane, LaneInfo& info, Audience& audience) noexcept
    : LaneActor(ActorKind::source),
      context_(context),
      lane_(lane),
      info_(info),
      audience_(audience),
      repair_(context, stream_, audience),
      go_back_n_(context, info, stream_, audience),
      transmitter_(context, info, stream_, audience, repair_, go_back_n_, pipe_) {
  stream_.log.start_at(kFirstCast);
  stream_.log.set_cursors(audience.live());
  stream_.limit = kFirstCast + context.first_window();
}

std::span<std::byte> LaneSource::room(std::size_t least) noexcept {
  const std::size_t most = context_.datagram_bytes() - wire::kCastHead;
  HERALD_ASSERT(least <= most);
  SendLog& log = stream_.log;
  context_.reserved_by = -1;
  if (!before(log.end(), stream_.limit) || log.end() - stream_.lowest >= audience_.window() ||
      !log.reserve()) {
    stream_.refused = true;
    arm_tail(context_.clock);  // there may be no packet on its way whose ack would bring credit
    rearm();
    return {};
  }
  // Members that have not opened another lane yet may hold the log full, and may wait for this lane: a lane
  // always has room for one packet.
  if (context_.reserved == PacketPool::kNone) context_.reserved = context_.log_pool.take(log.empty());
  if (context_.reserved == PacketPool::kNone) {
    context_.starved.push(*this);
    starving_ = true;
    return {};
  }
  stream_.refused = false;
  context_.reserved_by = info_.id;
  return {context_.log_pool.at(context_.reserved) + wire::kCastHead, most};
}

void LaneSource::commit(std::size_t bytes) noexcept {
  const std::size_t most = context_.datagram_bytes() - wire::kCastHead;
  HERALD_ASSERT(context_.reserved_by == info_.id && bytes <= most);
  context_.reserved_by = -1;
  if (bytes == 0) return;
  ++context_.counters.cast;
  if (audience_.live() == 0) return;
  std::byte* const at = context_.log_pool.at(context_.reserved);
  std::size_t body = sizeof(wire::LanePart) + bytes;
  Entry& entry = stream_.log.append();
  info_.numbers.on_cast(info_.me, stream_.log.end());
  if (!info_.tree) {
    const std::size_t rows = lane_.write_ack_rows(at + wire::kCastHead + bytes, most - bytes);
    if (rows != 0) entry.flags = wire::kFlagRows;
    body += rows;
  }
  const wire::LanePart part = lane_part(info_, audience_);
  std::memcpy(at + sizeof(wire::DatagramHead), &part, sizeof part);
  entry.slot = context_.reserved;
  entry.body_bytes = static_cast<std::uint16_t>(body);
  entry.body_crc = context_.config.seal.body_crc({at + sizeof(wire::DatagramHead), body});
  context_.reserved = PacketPool::kNone;
  wake();
}

// All before `next` have come, and those before `limit` may be sent. False: nothing new.
bool LaneSource::advance(LaneMember& member, Seq next, Seq limit) noexcept {
  bool moved = false;
  if (before(member.cursor.next, next) && !before(stream_.next_tx, next)) {
    for (Seq seq = member.cursor.next; seq != next; ++seq) stream_.log.pass(seq, context_.log_pool);
    member.cursor.advance(next);
    if (before(member.unicast_next, next)) member.unicast_next = next;
    go_back_n_.on_progress(member);
    moved = true;
  }
  if (before(member.cursor.limit, limit) && limit - stream_.next_tx <= Reorder::kMost) {
    member.cursor.limit = limit;
    moved = true;
  }
  return moved;
}

void LaneSource::sample_rtt(LaneMember& member, Instant now, const wire::CastAck& ack) noexcept {
  const Seq newest = ack.newest;
  if (before(newest, stream_.log.first()) || !before(newest, stream_.next_tx)) return;
  const Entry& entry = stream_.log[newest];
  if (entry.transmissions != 1) return;
  const std::int64_t ns = (now - entry.sent_at).ns - std::int64_t{1000} * ack.delay_us;
  if (ns > 0) member.rtt.add({ns});
}

// A parent in the tree acknowledges for the members below it.
void LaneSource::advance_subtree(std::uint32_t place, const wire::CastAck& ack) noexcept {
  info_.tree_of(info_.me).below(place, [&](std::uint32_t each) {
    LaneMember& member = audience_[each];
    if (each == place || member.is_gone()) return;
    const bool multicast_only = member.reachability == Reachability::unknown && !member.asked;
    if (!before(stream_.next_tx, ack.all_next)) member.note_seen(ack.all_next);
    if (advance(member, ack.all_next, ack.all_credit) && multicast_only && member.misses == 0)
      audience_.set_reachability(each, Reachability::multicast);
  });
}

bool LaneSource::on_ack(Instant now, std::uint32_t place, const wire::DatagramView& view) noexcept {
  const auto& ack = wire::part_at<wire::CastAck>(view.body);
  LaneMember& member = audience_[place];
  ++context_.counters.acks_received;
  if (member.is_gone()) return false;
  if ((view.flags & wire::kFlagClosed) != 0) {
    remove_member(now, place);
    return true;
  }
  if ((view.flags & wire::kFlagNotOpen) != 0) {
    tail_.on_member_alive();
    return false;
  }
  sample_rtt(member, now, ack);
  const Seq seen = member.seen;
  const bool moved = advance(member, view.seq, ack.credit);
  if (member.cursor.next == view.seq) member.cursor.came = ack.holes;
  if (before(ack.newest, stream_.next_tx)) member.note_seen(ack.newest + 1);
  if (!before(stream_.next_tx, view.seq))
    member.note_seen(ack.holes == 0
                         ? view.seq
                         : view.seq + 65 - static_cast<Seq>(std::countl_zero<std::uint64_t>(ack.holes)));
  audience_.judge(now, place, (view.flags & wire::kFlagMulticastSeen) != 0);
  if (audience_.uses_tree() && ack.all_next != kFirstCast) advance_subtree(place, ack);
  const bool news = moved || member.seen != seen;
  update(now);
  return news;
}

// Acks that rode on a cast of a member: at most one of them is for us.
bool LaneSource::on_ack_rows(Instant now, std::uint32_t place, std::span<const wire::AckRow> rows) noexcept {
  LaneMember& member = audience_[place];
  if (member.is_gone()) return false;
  for (const wire::AckRow& row : rows) {
    if (row.member != info_.me) continue;
    const std::uint16_t credit = row.credit;
    const Seq next = row.next;
    const bool moved = advance(member, next, next + (credit & ~wire::kRowMulticastSeen));
    if (!before(stream_.next_tx, next)) member.note_seen(next);
    if ((credit & wire::kRowMulticastSeen) != 0) audience_.judge(now, place, true);
    update(now);
    return moved;
  }
  return false;
}

bool LaneSource::on_nak(Instant now, std::uint32_t place, const wire::DatagramView& view) noexcept {
  const auto& nak = wire::part_at<wire::CastNak>(view.body);
  LaneMember& member = audience_[place];
  if (nak.source != static_cast<std::uint32_t>(context_.config.me) || member.is_gone()) return false;
  ++context_.counters.naks_received;
  const Seq seen = member.seen;
  const bool moved = advance(member, view.seq, member.cursor.limit);
  if (!before(stream_.next_tx, nak.end)) member.note_seen(nak.end);
  audience_.judge(now, place, (view.flags & wire::kFlagMulticastSeen) != 0);
  if (context_.is_go_back_n()) {
    go_back_n_.go_back(now, member);
  } else {
    pipe_.on_loss(stream_);
    repair_.on_nak(now, place, view.seq, view.body);
  }
  if (!before(view.seq, stream_.log.first()) && before(view.seq, stream_.next_tx)) {
    const Entry& missing = stream_.log[view.seq];
    if (missing.transmissions >= kCastsToSuspect)
      context_.suspect_segment(now, info_.members[place], sizeof(wire::DatagramHead) + missing.body_bytes);
  }
  const bool news = moved || member.seen != seen;
  update(now);
  return news;
}

// Where the slowest member stands, and what all let us send.
void LaneSource::update(Instant now) noexcept {
  const Audience::Survey all = audience_.survey(stream_.next_tx);
  const bool moved = all.lowest != stream_.lowest;
  stream_.lowest = all.lowest;
  lane_.close_if_drained();
  stream_.limit = all.limit;
  stream_.seen = all.seen;
  pipe_.adjust(stream_, audience_);
  if (moved) {
    tail_.on_progress();
    stream_.oldest_at = now;
    stream_.rate.on_arrived(now, stream_.lowest);
    context_.counters.proven_rate = std::max(context_.counters.proven_rate, stream_.rate.bytes_per_second());
  }
  if (starving_ && is_empty()) {
    context_.starved.remove(*this);
    starving_ = false;
    context_.ready.push(*this);
  }
  if (stream_.refused && before(stream_.log.end(), all.limit) &&
      stream_.log.end() - all.lowest < audience_.window())
    context_.ready.push(*this);
  arm_tail(now);
  if (stream_.has_unsent() || repair_.is_pending() || audience_.needs_unicast() || go_back_n_.is_active())
    wake();
  rearm();
}

void LaneSource::remove_member(Instant now, std::uint32_t place) noexcept {
  LaneMember& member = audience_[place];
  if (member.is_gone()) return;
  for (Seq seq = member.cursor.next; seq != stream_.log.end(); ++seq)
    stream_.log.pass(seq, context_.log_pool);
  audience_.remove(place);
  go_back_n_.on_progress(member);
  stream_.log.set_cursors(audience_.live());
  lane_.on_member_gone(place);
  if (audience_.live() == 0) stream_.next_tx = stream_.log.end();
  update(now);
}

// Acks may be held back for a round trip and a half after the last packet, and for longest_hold() after the
// first; a tree adds steps.
void LaneSource::arm_tail(Instant now) noexcept {
  if (!stream_.is_outstanding() && !stream_.is_blocked()) return tail_.disarm();
  if (stream_.oldest_at == kNever) stream_.oldest_at = now;
  const Duration rtt = audience_.rtt();
  const std::int64_t steps = audience_.uses_tree() ? 2 * rtt.ns : 0;
  const Duration quiet{audience_.timing().timeout.ns + 3 * rtt.ns / 2 + steps};
  tail_.arm(stream_, {quiet, longest_hold(rtt, 6, stream_.small), context_.config.longest_backoff});
}

bool LaneSource::lags(const LaneMember& member) const noexcept {
  if (member.is_gone()) return false;
  return member.cursor.next != stream_.next_tx ||
         (stream_.is_blocked() && !before(stream_.log.end(), member.cursor.limit));
}

void LaneSource::on_tail(Instant now) noexcept {
  const auto lagging = std::count_if(audience_.members().begin(), audience_.members().end(),
                                     [&](const LaneMember& member) { return lags(member); });
  const bool all = tail_.asks() == 0 && lagging >= kAskAll && audience_.multicast_members() != 0;
  if (all) transmitter_.ask_group(true);
  for (std::uint32_t i = 0; i < audience_.size(); ++i) {
    LaneMember& member = audience_[i];
    if (!lags(member)) continue;
    if (!all || member.reachability != Reachability::multicast) transmitter_.ask(member);
    if (tail_.asks() > 1) context_.on_unanswered(now, info_.members[i]);
    if (context_.is_go_back_n()) go_back_n_.go_back(now, member);
  }
  if (lagging == 0) return arm_tail(now);
  tail_.on_asked(now);
  arm_tail(now);
  wake();
}

void LaneSource::on_answer(Instant now) noexcept {
  tail_.on_answer(now);
  arm_tail(now);
  rearm();
}

void LaneSource::on_timers(Instant now) noexcept {
  if (transmitter_.notice_at() <= now) {
    transmitter_.on_notice();
    wake();
  }
  if (tail_.at() <= now) on_tail(now);
  if (repair_.next_due(now) != nullptr) wake();
}

bool LaneSource::defer(Instant now, Duration time) noexcept {
  if (now < std::min(tail_.at(), transmitter_.notice_at()) || !tail_.may_defer(now)) return false;
  const Duration rtt = audience_.rtt();
  tail_.defer(now, now + std::max(time, Duration{audience_.timing().timeout.ns + 2 * rtt.ns}));
  if (transmitter_.notice_at() <= now) transmitter_.defer_notice(now + std::max(time, rtt));
  arm_tail(now);
  return true;
}

bool LaneSource::fill(Instant now, TxBatch& out) noexcept {
  const bool more = transmitter_.fill(now, out);
  arm_tail(now);
  return more;
}

void LaneSource::rearm() noexcept {
  context_.scheduler.set_deadline(*this,
                                  std::min({tail_.at(), transmitter_.notice_at(), repair_.deadline()}));
}

void LaneSource::close() noexcept {
  stream_.log.clear(context_.log_pool);
  context_.scheduler.remove(*this);
  context_.ready.remove(*this);
  context_.starved.remove(*this);
}

}  // namespace herald::rel
