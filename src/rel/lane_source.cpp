// SPDX-License-Identifier: BSD-3-Clause
// rel/lane_source.cpp: our stream: what acks tell of the members, and who of them hears the group.
#include <algorithm>
#include <bit>

#include "rel/lane_inner.hpp"

namespace herald::rel {
namespace {

constexpr std::uint8_t kMissesUnknown = 2;  // acks without a sign of the group until a member counts as deaf
constexpr std::uint8_t kMissesHears = 4;    // the same of one that did hear it

// The pipe is as long as makes packets wait so long on their way, mostly in our own interface: enough for the
// line never to run dry between two acks; little enough for a repair to arrive soon.
constexpr Duration kMostTimeout = milliseconds(60);
constexpr std::uint32_t kLeastPipe = 16;
constexpr Duration kShortQueue = milliseconds(2);
constexpr Duration kLongQueue = milliseconds(4);

}  // namespace

// All before `next` have come, and those before `limit` may be sent. False: nothing new.
bool Lanes::Inner::advance(Lane& lane, LaneMember& member, Seq next, Seq limit) noexcept {
  bool moved = false;
  if (before(member.cursor.next, next) && !before(lane.next_tx, next)) {
    for (Seq seq = member.cursor.next; seq != next; ++seq) lane.log.pass(seq, log_pool);
    member.cursor.advance(next);
    if (before(member.uni_next, next)) member.uni_next = next;
    caught_up(lane, member);
    moved = true;
  }
  if (before(member.cursor.limit, limit) && limit - lane.next_tx <= Reorder::kMost) {
    member.cursor.limit = limit;
    moved = true;
  }
  return moved;
}

void Lanes::Inner::note_seen(LaneMember& member, Seq seen) noexcept {
  if (before(member.seen, seen)) member.seen = seen;
}

// Once for each pipe's length that has passed.
void Lanes::Inner::fit_pipe(Lane& lane) noexcept {
  if (before(lane.seen, lane.pipe_mark)) return;
  lane.pipe_mark = lane.next_tx;
  if (lane.queue > kLongQueue) lane.pipe = std::max(kLeastPipe, lane.pipe * 3 / 4);
  if (lane.queue < kShortQueue) lane.pipe = std::min(window_of(lane), lane.pipe * 5 / 4 + 1);
}

void Lanes::Inner::set_hearing(Lane& lane, std::uint32_t place, Hearing hearing) noexcept {
  LaneMember& member = lane.cursors[place];
  if (member.hearing == hearing || member.hearing == Hearing::gone) return;
  const bool listened = member.hearing != Hearing::deaf;
  const bool listens = hearing == Hearing::unknown || hearing == Hearing::hears;
  lane.all_hear = lane.all_hear && hearing == Hearing::hears;
  if (listened && !listens) --lane.listening;
  if (!listened && listens) ++lane.listening;
  const bool first_good = member.hearing == Hearing::unknown && hearing == Hearing::hears;
  member.hearing = hearing;
  member.misses = 0;
  if (hearing == Hearing::deaf) {
    ++counters.went_deaf;
    member.uni_next = member.cursor.next;
    wake(lane);
  } else if (hearing == Hearing::hears && !first_good) {
    ++counters.heard_again;
  }
  if (hearing == Hearing::gone) return;
  calling = true;
  listener.hearing_changed(lane.id, lane.members[place], hearing == Hearing::hears);
  calling = false;
}

// A member has told whether the group reached it since it last told. Silence counts only if a multicast left
// in between and had time to arrive and to be answered.
void Lanes::Inner::judge(Lane& lane, Instant now, std::uint32_t place, bool heard) noexcept {
  LaneMember& member = lane.cursors[place];
  if (heard) {
    member.misses = 0;
    member.judged_at = now;
    if (member.hearing != Hearing::hears) set_hearing(lane, place, Hearing::hears);
    return;
  }
  const Instant due{now.ns - 5 * rtt_of(lane).ns / 4};
  const auto counts = [&](Instant sent) { return member.judged_at < sent && sent <= due; };
  if (!counts(lane.group_old) && !counts(lane.group_recent)) return;
  member.judged_at = now;
  if (member.hearing == Hearing::deaf) return;
  ++member.misses;
  if (member.misses >= (member.hearing == Hearing::hears ? kMissesHears : kMissesUnknown))
    set_hearing(lane, place, Hearing::deaf);
}

void Lanes::Inner::sample_rtt(Lane& lane, LaneMember& member, Instant now,
                              const wire::CastAck& ack) noexcept {
  const Seq newest = ack.newest;
  if (before(newest, lane.log.first()) || !before(newest, lane.next_tx)) return;
  const Entry& entry = lane.log[newest];
  if (entry.transmissions != 1) return;
  const std::int64_t ns = (now - entry.sent_at).ns - std::int64_t{1000} * ack.delay_us;
  if (ns > 0) member.rtt.add({ns});
}

void Lanes::Inner::on_ack(Lane& lane, Instant now, std::uint32_t place,
                          const wire::DatagramView& view) noexcept {
  const auto& ack = wire::part_at<wire::CastAck>(view.body);
  LaneMember& member = lane.cursors[place];
  ++counters.acks_received;
  if (member.hearing == Hearing::gone) return;
  if ((view.flags & wire::kFlagClosed) != 0) {
    remove(lane, now, place);
    return;
  }
  if ((view.flags & wire::kFlagNotOpen) != 0) {  // alive, and that is all
    lane.asks = std::min<std::uint8_t>(lane.asks, 4);
    return;
  }
  sample_rtt(lane, member, now, ack);
  advance(lane, member, view.seq, ack.credit);
  if (member.cursor.next == view.seq) member.cursor.came = ack.holes;
  if (before(ack.newest, lane.next_tx)) note_seen(member, ack.newest + 1);
  if (!before(lane.next_tx, view.seq))
    note_seen(member, ack.holes == 0
                          ? view.seq
                          : view.seq + 65 - static_cast<Seq>(std::countl_zero<std::uint64_t>(ack.holes)));
  judge(lane, now, place, (view.flags & wire::kFlagHeard) != 0);
  if (lane.tree && !lane.direct && ack.all_next != kFirstCast) {
    tree_of(lane, lane.me).below(place, [&](std::uint32_t each) {
      LaneMember& one = lane.cursors[each];
      if (each == place || one.hearing == Hearing::gone) return;
      const bool multicast_only = one.hearing == Hearing::unknown && one.asked_since == kNever;
      if (!before(lane.next_tx, ack.all_next)) note_seen(one, ack.all_next);
      if (advance(lane, one, ack.all_next, ack.all_credit) && multicast_only && one.misses == 0)
        set_hearing(lane, each, Hearing::hears);
    });
  }
  survey(lane, now);
}

// Acks that rode on a cast of a member: one of them may be for us.
void Lanes::Inner::on_rows(Lane& lane, Instant now, std::uint32_t place,
                           std::span<const wire::AckRow> rows) noexcept {
  LaneMember& member = lane.cursors[place];
  if (member.hearing == Hearing::gone) return;
  for (const wire::AckRow& row : rows) {
    if (row.member != lane.me) continue;
    const std::uint16_t credit = row.credit;
    const Seq next = row.next;
    advance(lane, member, next, next + (credit & ~wire::kRowHeard));
    if (!before(lane.next_tx, next)) note_seen(member, next);
    if ((credit & wire::kRowHeard) != 0) judge(lane, now, place, true);
    survey(lane, now);
    return;
  }
}

// Where the slowest stands, what all let us send, how far the farthest is.
void Lanes::Inner::survey(Lane& lane, Instant now) noexcept {
  Seq lowest = lane.next_tx, seen = lane.next_tx, limit = lane.next_tx + Reorder::kMost;
  Duration rtt{}, base{}, queue{}, timeout{};
  bool all_hear = true;
  const LaneTree tree = tree_of(lane, lane.me);
  for (std::uint32_t place = 0; place < lane.cursors.size(); ++place) {
    const LaneMember& member = lane.cursors[place];
    if (member.hearing == Hearing::gone) continue;
    all_hear = all_hear && member.hearing == Hearing::hears;
    if (before(member.cursor.next, lowest)) lowest = member.cursor.next;
    if (member.hearing != Hearing::deaf && before(member.seen, seen)) seen = member.seen;
    if (before(member.cursor.limit, limit)) limit = member.cursor.limit;
    // What is known of others in a tree is old: they seldom tell us themselves.
    if (lane.tree && !lane.direct && tree.parent(place) != lane.me) continue;
    timeout = std::max(timeout, member.rtt.timeout(config.first_rtt, config.least_timeout));
    if (!member.rtt.known()) continue;
    rtt = std::max(rtt, Duration{member.rtt.smooth_ns});
    base = std::max(base, Duration{member.rtt.least_ns});
    queue = std::max(queue, Duration{std::int64_t{member.rtt.latest_ns} - member.rtt.least_ns});
  }
  lane.all_hear = all_hear;
  lane.rtt = rtt;
  lane.base = base;
  lane.queue = queue;
  lane.timeout = std::min(timeout, kMostTimeout);
  const bool moved = lowest != lane.lowest;
  lane.lowest = lowest;
  if (lane.draining && lane.log.empty() && is_settled(lane)) lane.closing = some_closing = true;
  lane.limit = limit;
  lane.seen = seen;
  fit_pipe(lane);
  if (moved) {
    lane.asks = 0;
    lane.deferral.end();
    lane.oldest_at = now;
  }
  if (lane.starving && lane.log.empty()) {
    starved.remove(lane);
    lane.starving = false;
    roomy.push(lane);
  }
  if (lane.refused && before(lane.log.end(), limit) && lane.log.end() - lowest < window_of(lane))
    roomy.push(lane);
  arm_tail(lane, now);
  if (lane.next_tx != lane.log.end() || !lane.mend_queue.empty() || lane.listening < lane.living ||
      lane.behind != 0)
    wake(lane);
  rearm(lane);
}

void Lanes::Inner::lose(Lane& lane, Instant now, std::uint32_t place) noexcept {
  lane.cursors[place].silent = true;
  if (LaneIn* const in = lane.in[place].get()) {
    in->ack_due = in->tree_due = in->grace_at = in->renak_at = kNever;
    in->ack_now = false;
    in->end = in->next;
    in->nak_to = in->nak_from;
    for (Seq seq = in->next; before(seq, in->top); ++seq)  // what comes before them never will
      if (in->reorder.has(seq)) kept_pool.give(in->reorder.take(seq).slot);
    rearm(*in);
  }
  remove(lane, now, place);
}

// A member that is lost, or wants nothing any more: its cursor lets go of the log.
void Lanes::Inner::remove(Lane& lane, Instant now, std::uint32_t place) noexcept {
  LaneMember& member = lane.cursors[place];
  if (member.hearing == Hearing::gone) return;
  for (Seq seq = member.cursor.next; seq != lane.log.end(); ++seq) lane.log.pass(seq, log_pool);
  set_hearing(lane, place, Hearing::gone);
  caught_up(lane, member);
  member.ask_due = false;
  --lane.living;
  lane.log.set_cursors(lane.living);
  lane.direct = true;
  fused_without(lane, place);
  if (lane.living == 0) lane.next_tx = lane.log.end();
  survey(lane, now);
}

}  // namespace herald::rel
