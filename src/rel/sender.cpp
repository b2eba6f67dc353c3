// SPDX-License-Identifier: BSD-3-Clause
// rel/sender.cpp: what an ack tells: who came, who must be lost, how far we may go, how fast it is.
#include <algorithm>
#include <array>
#include <bit>

#include "rel/inner.hpp"

namespace herald::rel {
namespace {

// A packet is lost if a later one by the same link was acknowledged and it is older than 9/8 of a round trip.
Duration patience(const Rtt& rtt) noexcept {
  const std::int64_t longest = std::max(rtt.smooth_ns, rtt.latest_ns);
  return {longest + longest / 8 + rtt.varies_ns};
}

}  // namespace

void Mesh::Inner::on_ack(Connection& ch, Instant now, const wire::AckPart& ack) noexcept {
  Sender& tx = ch.tx;
  ++counters.acks_received;
  if (before(ack.next, tx.cursor.next)) return;                   // overtaken by a newer one
  if (ack.next - tx.cursor.next > tx.next_tx - tx.cursor.next) {  // 2^31 ahead is neither before nor after
    ++counters.malformed;
    return;
  }
  const bool moved = take_acked(ch, now, ack);
  if (moved) {
    tx.asked = false;
    tx.deferral.end();
  }
  take_credit(ch, ack);
  if (is_go_back()) {
    // An ack that brings nothing shows a hole, or repeats itself: go back, once in a round trip.
    const bool stuck =
        !moved && tx.in_flight > 0 && now - tx.log[tx.cursor.next].sent_at > patience(rtt_of(ch));
    if (stuck) lose_all(ch);
  } else if (tx.cursor.came != 0 || tx.recovering || ch.links > 1 || !moved) {
    find_losses(ch, now, !moved);
  }
  if (tx.refused && before(tx.log.end(), tx.limit()) && tx.log.size() < Reorder::kMost) roomy.push(ch);
  if (tx.lost > 0 || tx.next_tx != tx.log.end()) wake(ch);
}

// Of the newest it is known which copy came: a measure of the round trip, and of what it overtook.
void Mesh::Inner::newest_acked(Connection& ch, Instant now, const wire::AckPart& ack,
                               std::span<std::uint32_t> by_link) noexcept {
  Sender& tx = ch.tx;
  if (before(ack.newest, tx.cursor.next) || !before(ack.newest, tx.next_tx)) return;
  Entry& entry = tx.log[ack.newest];
  const auto copies = static_cast<int>(ack.delay_us >> wire::kDelayBits);
  if (entry.state == EntryState::in_flight) {
    Link& link = ch.link[entry.link];
    const std::int64_t elapsed = (now - entry.sent_at).ns;
    const std::int64_t delay = std::int64_t{ack.delay_us & ((1u << wire::kDelayBits) - 1)} * 1000;
    // An earlier copy that came after it was repeated for its age alone was on its way for that long, and
    // longer. (If it came before, it is the ack that was lost.)
    if (copies == std::min(entry.transmissions - 1, kMostCopies))
      link.on_round_trip({delay < elapsed ? elapsed - delay : elapsed});
    else if (delay < elapsed && !entry.overtaken)
      link.on_round_trip({elapsed - delay + link.rtt.smooth_ns});
  }
  entry_acked(ch, entry, copies, by_link);
}

// Marks what has come; true if anything is new.
bool Mesh::Inner::take_acked(Connection& ch, Instant now, const wire::AckPart& ack) noexcept {
  Sender& tx = ch.tx;
  std::array<std::uint32_t, kMostLinks> by_link{};
  if (!is_go_back() || before(ack.newest, ack.next)) newest_acked(ch, now, ack, by_link);
  std::uint32_t returned = 0;
  for (Seq seq = tx.cursor.next; seq != ack.next; ++seq) {
    entry_acked(ch, tx.log[seq], kSomeCopy, by_link);
    if (Sender::is_small(tx.log[seq])) --tx.small;
    returned += tx.log.pass(seq, log_pool);
  }
  if (returned != 0) listener.returned(ch.peer, returned);
  tx.cursor.advance(ack.next);
  std::uint64_t fresh = ack.holes & ~tx.cursor.came;
  const std::int32_t reach = distance(tx.cursor.next + 1, tx.next_tx);
  if (reach < 64) fresh &= reach <= 0 ? 0 : (std::uint64_t{1} << reach) - 1;
  tx.cursor.came |= fresh;
  for (; fresh != 0; fresh &= fresh - 1) {
    const Seq seq = tx.cursor.next + 1 + static_cast<Seq>(std::countr_zero(fresh));
    entry_acked(ch, tx.log[seq], kSomeCopy, by_link);
  }
  if (before(tx.lost_from, tx.cursor.next)) tx.lost_from = tx.cursor.next;
  if (tx.recovering && !before(tx.cursor.next, tx.recover)) tx.recovering = false;

  std::uint32_t moved = 0;
  bool faster_or_slower = false;
  for (LinkId i = 0; i < ch.links; ++i) {
    if (by_link[i] == 0) continue;
    moved += by_link[i];
    const bool proven = ch.link[i].state == LinkState::live;
    faster_or_slower = ch.link[i].on_delivered(now, by_link[i]) || !proven || faster_or_slower;
    if (!proven) prove(ch, i);
  }
  if (moved == 0) return false;
  tx.cap = std::min(kMostInFlight, tx.cap + moved);
  if (faster_or_slower) measure_rate(ch);
  return true;
}

void Mesh::Inner::entry_acked(Connection& ch, Entry& entry, int copies,
                              std::span<std::uint32_t> by_link) noexcept {
  Sender& tx = ch.tx;
  Link& link = ch.link[entry.link];
  const int last = std::min(entry.transmissions - 1, kMostCopies);
  bool in_vain = copies != kSomeCopy && copies != last;  // it was repeated, and had come already
  switch (entry.state) {
    case EntryState::acked:
    case EntryState::queued: return;
    case EntryState::in_flight:
      --tx.in_flight;
      --link.in_flight;
      break;
    case EntryState::lost:
      --tx.lost;
      in_vain = true;
      break;
  }
  entry.state = EntryState::acked;
  ++by_link[entry.link];
  if (in_vain) {
    // Packets overtake each other here: be slower to believe in a loss.
    if (entry.overtaken)
      tx.threshold = static_cast<std::uint8_t>(std::min<int>(tx.threshold * 2, kMostThreshold));
    return;
  }
  if (copies == kSomeCopy && last > 0) return;  // an early copy proves nothing of those sent since
  if (distance(link.acked_order, entry.order) > 0) link.acked_order = entry.order;
}

// A packet without kFlagBacklog gave back all credit but the eager window. Acks that were written before the
// receiver knew that do not count.
void Mesh::Inner::take_credit(Connection& ch, const wire::AckPart& ack) noexcept {
  Sender& tx = ch.tx;
  Seq limit = ack.credit;
  if (tx.promised) {
    if (!before(ack.next, tx.promise) || !before(ack.newest, tx.promise - 1)) {
      tx.promised = false;
    } else if (before(tx.promise + config.eager_packets, limit)) {
      limit = tx.promise + config.eager_packets;
    }
  }
  if (distance(tx.cursor.next, limit) > static_cast<std::int32_t>(SendLog::kMost)) return;
  if (before(tx.cursor.limit, limit)) tx.cursor.limit = limit;
}

void Mesh::Inner::lose(Connection& ch, Seq seq) noexcept {
  Sender& tx = ch.tx;
  Entry& entry = tx.log[seq];
  if (entry.state != EntryState::in_flight) return;
  entry.state = EntryState::lost;
  --tx.in_flight;
  --ch.link[entry.link].in_flight;
  ++tx.lost;
  if (before(seq, tx.lost_from)) tx.lost_from = seq;
  tx.recovering = true;
  tx.recover = tx.next_tx;
  wake(ch);
}

// `answered`: an ack without news. The first after a timeout proves that the peer is there and has not got
// what was sent more than a round trip ago. The next ones may only tell of what was sent in vain.
void Mesh::Inner::find_losses(Connection& ch, Instant now, bool answered) noexcept {
  Sender& tx = ch.tx;
  tx.loss_at = kNever;
  Seq end = tx.cursor.next + 1 + Cursor::kReach;  // nothing is known of later ones
  if (before(tx.next_tx, end)) end = tx.next_tx;
  for (Seq seq = tx.cursor.next; before(seq, end); ++seq) {
    const Entry& entry = tx.log[seq];
    if (entry.state != EntryState::in_flight) continue;
    const Link& link = ch.link[entry.link];
    const std::int32_t later = distance(entry.order, link.acked_order);
    const bool asked = answered && tx.asked;
    if (later <= 0 && !asked) continue;
    const Instant at = entry.sent_at + patience(link.rtt.known() ? link.rtt : rtt_of(ch));
    if (later >= tx.threshold || at <= now) {
      tx.log[seq].overtaken = later > 0;
      lose(ch, seq);
      tx.last_loss = now;
    } else if (later > 0) {
      tx.loss_at = std::min(tx.loss_at, at);
    }
  }
  if (answered) tx.asked = false;
}

void Mesh::Inner::lose_link(Connection& ch, Instant now, LinkId link) noexcept {
  ch.tx.last_loss = now;
  for (Seq seq = ch.tx.cursor.next; seq != ch.tx.next_tx; ++seq)
    if (ch.tx.log[seq].link == link) lose(ch, seq);
}

// To ask with it: maybe it was not lost, and the peer computes.
void Mesh::Inner::lose_oldest(Connection& ch, LinkId link) noexcept {
  for (Seq seq = ch.tx.cursor.next; seq != ch.tx.next_tx; ++seq) {
    const Entry& entry = ch.tx.log[seq];
    if (entry.link == link && entry.state == EntryState::in_flight) return lose(ch, seq);
  }
}

void Mesh::Inner::lose_all(Connection& ch) noexcept {
  for (Seq seq = ch.tx.cursor.next; seq != ch.tx.next_tx; ++seq) lose(ch, seq);
}

void Mesh::Inner::measure_rate(Connection& ch) noexcept {
  float packets_per_ns = 0;
  for (const Link& link : ch.all_links())
    if (link.state == LinkState::live && link.packet_ns > 0) packets_per_ns += 1 / link.packet_ns;
  ch.tx.packet_ns = packets_per_ns > 0 ? 1 / packets_per_ns : 0;
}

}  // namespace herald::rel
