// SPDX-License-Identifier: BSD-3-Clause
#include "rel/sender.hpp"

#include <algorithm>
#include <array>
#include <bit>

#include "rel/segment_sizes.hpp"

namespace herald::rel {
namespace {

constexpr std::uint8_t kDataTimeouts =
    2;                                   // the first timeouts in a row retransmit data, later ones probe ...
constexpr std::uint8_t kDataEvery = 4;   // ... except for every fourth
constexpr std::uint8_t kPersistent = 3;  // timeouts in a row that shrink the window
constexpr std::uint32_t kLeastCap = 2;

// The age at which a packet is lost if a later one by the same link was acknowledged.
Duration loss_age(const Rtt& rtt) noexcept {
  const std::int64_t longest = std::max(rtt.smooth_ns, rtt.latest_ns);
  return {longest + longest / 8 + rtt.varies_ns};
}

}  // namespace

bool Sender::on_ack(Connection& ch, Instant now, const wire::AckPart& ack) noexcept {
  SendState& tx = ch.tx;
  ++mesh_.counters.acks_received;
  if (before(ack.next, tx.cursor.next)) return false;             // overtaken by a newer one
  if (ack.next - tx.cursor.next > tx.next_tx - tx.cursor.next) {  // 2^31 ahead is neither before nor after
    ++mesh_.counters.malformed;
    return false;
  }
  const bool moved = take_acked(ch, now, ack);
  if (moved) {
    tx.timeout_unanswered = false;
    tx.deferral.end();
  }
  const bool credit = take_credit(ch, ack);
  if (mesh_.is_go_back()) {
    // An ack without news shows a hole, or is a duplicate: go back, once in a round trip.
    const bool stuck =
        !moved && tx.in_flight > 0 && now - tx.log[tx.cursor.next].sent_at > loss_age(ch.links.rtt());
    if (stuck) lose_all(ch);
  } else if (tx.cursor.came != 0 || tx.in_recovery || ch.links.size() > 1 || !moved) {
    find_losses(ch, now, !moved);
  }
  if (tx.refused && before(tx.log.end(), tx.limit()) && tx.log.size() < Reorder::kMost)
    mesh_.writable.push(ch);
  if (tx.lost > 0 || tx.next_tx != tx.log.end()) mesh_.wake(ch);
  return moved || credit;
}

// The ack tells which copy of the newest packet came: a round-trip sample, and the order of arrival.
void Sender::newest_acked(Connection& ch, Instant now, const wire::AckPart& ack,
                          std::span<std::uint32_t> by_link) noexcept {
  SendState& tx = ch.tx;
  if (before(ack.newest, tx.cursor.next) || !before(ack.newest, tx.next_tx)) return;
  Entry& entry = tx.log[ack.newest];
  const auto copies = static_cast<int>(ack.delay_us >> wire::kDelayBits);
  if (entry.state == EntryState::in_flight) {
    Link& link = ch.links[entry.link];
    const std::int64_t elapsed = (now - entry.sent_at).ns;
    const std::int64_t delay = std::int64_t{ack.delay_us & ((1u << wire::kDelayBits) - 1)} * 1000;
    // An earlier copy that came after a retransmission by age alone was in flight for that long, and longer.
    // (If it came before the retransmission, its ack was lost.)
    if (copies == std::min(entry.transmissions - 1, kMostCopies))
      link.on_round_trip({delay < elapsed ? elapsed - delay : elapsed});
    else if (delay < elapsed && !entry.overtaken)
      link.on_round_trip({elapsed - delay + link.rtt.smooth_ns});
  }
  entry_acked(ch, entry, copies, by_link);
}

// Marks what has arrived; true if any of it is new.
bool Sender::take_acked(Connection& ch, Instant now, const wire::AckPart& ack) noexcept {
  SendState& tx = ch.tx;
  std::array<std::uint32_t, kMostLinks> by_link{};
  if (!mesh_.is_go_back() || before(ack.newest, ack.next)) newest_acked(ch, now, ack, by_link);
  std::uint32_t returned = 0;
  for (Seq seq = tx.cursor.next; seq != ack.next; ++seq) {
    entry_acked(ch, tx.log[seq], kAnyCopy, by_link);
    if (SendState::is_small(tx.log[seq])) --tx.small;
    returned += tx.log.pass(seq, mesh_.log_pool);
  }
  if (returned != 0) mesh_.listener.returned(ch.peer, returned);
  tx.cursor.advance(ack.next);
  std::uint64_t fresh = ack.holes & ~tx.cursor.came;
  const std::int32_t reach = distance(tx.cursor.next + 1, tx.next_tx);
  if (reach < 64) fresh &= reach <= 0 ? 0 : (std::uint64_t{1} << reach) - 1;
  tx.cursor.came |= fresh;
  for (; fresh != 0; fresh &= fresh - 1) {
    const Seq seq = tx.cursor.next + 1 + static_cast<Seq>(std::countr_zero(fresh));
    entry_acked(ch, tx.log[seq], kAnyCopy, by_link);
  }
  if (before(tx.lost_from, tx.cursor.next)) tx.lost_from = tx.cursor.next;
  if (tx.in_recovery && !before(tx.cursor.next, tx.recovery_end)) tx.in_recovery = false;

  std::uint32_t moved = 0;
  bool new_rate = false;
  for (std::uint8_t i = 0; i < ch.links.size(); ++i) {
    if (by_link[i] == 0) continue;
    moved += by_link[i];
    const bool proven = ch.links[i].state == LinkState::live;
    new_rate = ch.links[i].on_delivered(now, by_link[i]) || !proven || new_rate;
    ch.links.on_acked(mesh_, ch.peer, i);
  }
  if (moved == 0) return false;
  tx.cap = std::min(kMostInFlight, tx.cap + moved);
  if (new_rate) tx.pacer.packet_ns = ch.links.packet_ns();
  return true;
}

void Sender::entry_acked(Connection& ch, Entry& entry, int copies,
                         std::span<std::uint32_t> by_link) noexcept {
  SendState& tx = ch.tx;
  Link& link = ch.links[entry.link];
  const int last = std::min(entry.transmissions - 1, kMostCopies);
  bool spurious = copies != kAnyCopy && copies != last;  // retransmitted although an earlier copy arrived
  switch (entry.state) {
    case EntryState::acked:
    case EntryState::queued: return;
    case EntryState::in_flight:
      --tx.in_flight;
      --link.in_flight;
      break;
    case EntryState::lost:
      --tx.lost;
      spurious = true;
      break;
  }
  entry.state = EntryState::acked;
  ++by_link[entry.link];
  if (spurious) {
    // The network reorders packets: require more evidence of a loss.
    if (entry.overtaken)
      tx.threshold = static_cast<std::uint8_t>(std::min<int>(tx.threshold * 2, kMostThreshold));
    return;
  }
  if (copies == kAnyCopy && last > 0) return;  // an early copy proves nothing about packets sent since
  if (distance(link.acked_order, entry.order) > 0) link.acked_order = entry.order;
}

// A packet without kFlagBacklog returned all credit but the eager window. Acks that were written before the
// receiver saw it grant no more than that window, and may be copies of acks whose credit was returned since.
// True: there is more credit than before, by an ack that is no such copy.
bool Sender::take_credit(Connection& ch, const wire::AckPart& ack) const noexcept {
  SendState& tx = ch.tx;
  Seq limit = ack.credit;
  bool maybe_copy = false;
  if (tx.credit_returned) {
    const Seq eager = tx.credit_return + ch.seal->eager_packets;
    if (!before(ack.next, tx.credit_return) || !before(ack.newest, tx.credit_return - 1)) {
      tx.credit_returned = false;
    } else {
      if (before(eager, limit)) limit = eager;
      maybe_copy = true;
    }
  }
  if (distance(tx.cursor.next, limit) > static_cast<std::int32_t>(SendLog::kMost)) return false;
  if (!before(tx.cursor.limit, limit)) return false;
  tx.cursor.limit = limit;
  return !maybe_copy;
}

void Sender::lose(Connection& ch, Seq seq) noexcept {
  SendState& tx = ch.tx;
  Entry& entry = tx.log[seq];
  if (entry.state != EntryState::in_flight) return;
  entry.state = EntryState::lost;
  --tx.in_flight;
  --ch.links[entry.link].in_flight;
  ++tx.lost;
  if (before(seq, tx.lost_from)) tx.lost_from = seq;
  tx.in_recovery = true;
  tx.recovery_end = tx.next_tx;
  mesh_.wake(ch);
}

// `without_news`: an ack acknowledged nothing. The first such ack after a timeout proves that the peer is
// there and misses what was sent more than a round trip ago. Later ones may only answer spurious
// retransmissions.
void Sender::find_losses(Connection& ch, Instant now, bool without_news) noexcept {
  SendState& tx = ch.tx;
  tx.loss_at = kNever;
  Seq end = tx.cursor.next + 1 + Cursor::kReach;  // acks tell nothing about later ones
  if (before(tx.next_tx, end)) end = tx.next_tx;
  for (Seq seq = tx.cursor.next; before(seq, end); ++seq) {
    Entry& entry = tx.log[seq];
    if (entry.state != EntryState::in_flight) continue;
    const Link& link = ch.links[entry.link];
    const std::int32_t later = distance(entry.order, link.acked_order);
    if (later <= 0 && !(without_news && tx.timeout_unanswered)) continue;
    const Instant at = entry.sent_at + loss_age(link.rtt.known() ? link.rtt : ch.links.rtt());
    if (later >= tx.threshold || at <= now) {
      entry.overtaken = later > 0;
      lose(ch, seq);
      tx.last_loss = now;
    } else if (later > 0) {
      tx.loss_at = std::min(tx.loss_at, at);
    }
  }
  if (without_news) tx.timeout_unanswered = false;
}

void Sender::lose_link(Connection& ch, Instant now, std::uint8_t link) noexcept {
  ch.tx.last_loss = now;
  for (Seq seq = ch.tx.cursor.next; seq != ch.tx.next_tx; ++seq)
    if (ch.tx.log[seq].link == link) lose(ch, seq);
}

// Its retransmission is the question: maybe nothing is lost, and the peer computes.
void Sender::lose_oldest(Connection& ch, std::uint8_t link) noexcept {
  for (Seq seq = ch.tx.cursor.next; seq != ch.tx.next_tx; ++seq) {
    const Entry& entry = ch.tx.log[seq];
    if (entry.link == link && entry.state == EntryState::in_flight) return lose(ch, seq);
  }
}

void Sender::lose_all(Connection& ch) noexcept {
  for (Seq seq = ch.tx.cursor.next; seq != ch.tx.next_tx; ++seq) lose(ch, seq);
}

void Sender::suspect_link(Connection& ch, Instant now, std::uint8_t link) noexcept {
  ch.links.suspect(now, link);
  lose_link(ch, now, link);
}

void Sender::probe(Connection& ch, Instant now) noexcept {
  ch.detector.on_probe(now);
  ch.links[ch.links.choose()].probe_due = true;
  mesh_.wake(ch);
}

void Sender::on_unanswered(Connection& ch, Instant now, std::uint8_t link) noexcept {
  if (ch.links.size() == 1) return;
  Link& by = ch.links[link];
  if (by.timeouts < 255) ++by.timeouts;
  if (ch.links.has_alternative(link)) suspect_link(ch, now, link);
}

Instant Sender::credit_probe_at(const Connection& ch) const noexcept {
  if (ch.tx.blocked_since == kNever) return kNever;
  const MeshConfig& config = mesh_.config;
  const std::int64_t base = ch.links.rtt().timeout(config.first_rtt, config.least_timeout).ns;
  return ch.tx.blocked_since + Duration{base << std::min<int>(ch.tx.credit_probes, 4)};
}

Instant Sender::deadline(const Connection& ch) const noexcept {
  return std::min({ch.tx.loss_at, ch.tx.pacer.wake, ch.links.deadline(mesh_.config), credit_probe_at(ch),
                   ch.detector.next_probe(), ch.detector.warning(), ch.detector.deadline()});
}

void Sender::update_timers(Connection& ch, Instant now) noexcept {
  SendState& tx = ch.tx;
  const bool blocked = tx.is_blocked();
  if (!blocked) {
    tx.blocked_since = kNever;
    tx.credit_probes = 0;
  } else if (tx.blocked_since == kNever) {
    tx.blocked_since = now;
  }
  if (tx.in_flight == 0) tx.loss_at = kNever;
  if (tx.log.empty() && !blocked) ch.detector.on_nothing_outstanding();
}

void Sender::on_deadline(Connection& ch, Instant now) noexcept {
  SendState& tx = ch.tx;
  if (tx.loss_at <= now) find_losses(ch, now, false);
  if (tx.pacer.wake <= now) {
    tx.pacer.wake = kNever;
    mesh_.wake(ch);
  }
  for (std::uint8_t i = 0; i < ch.links.size(); ++i) {
    const Link& link = ch.links[i];
    if (LinkSet::is_overdue(mesh_.config, link, now)) on_link_timeout(ch, now, i);
    if (link.segment.deadline() <= now && on_segment_time(mesh_, ch, now, i)) mesh_.wake(ch);
    if (link.probe_at > now) continue;
    const bool was_dead = link.state == LinkState::dead;
    if (ch.links.on_probe_time(mesh_, ch.peer, now, i)) mesh_.wake(ch);
    if (!was_dead && link.state == LinkState::dead) lose_link(ch, now, i);
  }
  if (credit_probe_at(ch) <= now) {
    ch.detector.on_asked(tx.blocked_since);
    if (tx.credit_probes != 0) on_unanswered(ch, now, ch.links.choose());
    tx.blocked_since = now;
    if (tx.credit_probes < 255) ++tx.credit_probes;
    tx.probe_due = true;
    mesh_.wake(ch);
  }
  if (ch.detector.next_probe() <= now) {
    if (ch.detector.is_probing()) on_unanswered(ch, now, ch.links.choose());
    probe(ch, now);
  }
}

bool Sender::defer(Connection& ch, Instant now, Duration time) noexcept {
  if (!ch.tx.deferral.may(now, kRepeatDeferral)) return false;
  bool some = false;
  for (Link& link : ch.links.all()) {
    if (link.timeouts != 0 || !LinkSet::is_overdue(mesh_.config, link, now)) continue;
    link.since = now + time;
    ch.tx.deferral.note(now);
    some = true;
  }
  return some;
}

// No packet sent by this link was acknowledged for a timeout.
void Sender::on_link_timeout(Connection& ch, Instant now, std::uint8_t link) noexcept {
  SendState& tx = ch.tx;
  Link& by = ch.links[link];
  ch.detector.on_asked(by.since);
  if (by.timeouts < 255) ++by.timeouts;
  by.jitter = static_cast<std::uint8_t>(mesh_.prng.below(256));
  by.since = now;
  by.busy = false;
  if (ch.links.has_alternative(link)) {
    suspect_link(ch, now, link);
    tx.request_ack = true;
    return;
  }
  if (by.timeouts >= kPersistent) tx.cap = std::max(kLeastCap, tx.cap / 2);
  if (mesh_.is_go_back()) {
    lose_all(ch);
  } else if (by.timeouts <= kDataTimeouts || by.timeouts % kDataEvery == 0) {
    lose_oldest(ch, link);
  } else {
    tx.probe_due = true;
  }
  tx.request_ack = true;
  tx.timeout_unanswered = true;
  mesh_.wake(ch);
}

}  // namespace herald::rel
