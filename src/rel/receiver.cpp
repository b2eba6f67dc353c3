// SPDX-License-Identifier: BSD-3-Clause
#include "rel/receiver.hpp"

#include <algorithm>
#include <cstring>

namespace herald::rel {
namespace {

constexpr std::uint32_t kLeastAckEvery = 4, kMostAckEvery = 44;  // packets
constexpr std::uint32_t kAckEveryWithHoles = 2;
constexpr std::uint32_t kWindowStep = 3;  // packets more for each that comes from a backlogged sender
constexpr Duration kRedeliver = microseconds(200);  // before the listener is offered a packet again
constexpr Duration kBacklogFor = milliseconds(20);  // of a sender that sends nothing, at least
constexpr std::uint32_t kQuickUs = 50;              // since the last ack

// Packets in order before an ack is due: a part of the window that the sender knows of, because our own runs
// ahead of it while it opens.
std::uint32_t ack_every(const RecvState& rx) noexcept {
  const std::uint32_t window = std::min(rx.window, rx.advertised);
  const std::uint32_t least = std::min(kLeastAckEvery, std::max(window / 2u, 1u));
  // A sender without backlog does not wait for credit: most of what it may send is in flight before the ack.
  // A large window is that of a fast link, where one ack for several trains is enough.
  return std::clamp(rx.credit.backlogged ? window / 3u : window * 3u / 4u, least,
                    std::max(kMostAckEvery, window / 6u));
}

}  // namespace

bool Receiver::on_data(Connection& ch, Instant now, std::uint8_t link,
                       const wire::DatagramView& view) noexcept {
  RecvState& rx = ch.rx;
  if ((view.flags & wire::kFlagAskAck) != 0) rx.ack_now = true;
  if (link < ch.links.size()) rx.link = link;
  bool taken = false;
  if (before(view.seq, rx.next) || rx.reorder.has(view.seq)) {
    ++mesh_.counters.duplicates;  // our ack was lost, or is late
    rx.ack_now = true;
  } else if (const Seq ahead = view.seq - rx.delivered; ahead >= Reorder::kMost) {
    // Short packets may outrun the credit: those that cannot be kept count as lost. None is further ahead
    // than the sender's log is long; modulo 2^32, such packets are too old.
    if (ahead >= 2 * Reorder::kMost) ++mesh_.counters.stale;
  } else if (accept(ch, now, view)) {
    if (ch.gone) return true;
    grant(rx);
    owe_ack(ch, now);
    taken = true;
  }
  if (rx.ack_now) mesh_.wake(ch);
  return taken;
}

void Receiver::on_ack_datagram(Connection& ch, Instant now, const wire::DatagramView& view) noexcept {
  if ((view.flags & wire::kFlagAskAck) != 0) {
    ch.rx.ack_now = true;
    mesh_.wake(ch);
  }
  note_backlog(ch, now, view);
  grant(ch.rx);
}

// False: the packet was not taken, as if it had been lost.
bool Receiver::accept(Connection& ch, Instant now, const wire::DatagramView& view) noexcept {
  RecvState& rx = ch.rx;
  const bool in_order = view.seq == rx.next;
  const bool at_once = in_order && rx.delivered == rx.next;
  const bool fills_hole = rx.reorder.count() != 0 && before(view.seq, rx.end);
  if (!in_order) {
    ++mesh_.counters.out_of_order;
    if (before(rx.end, view.seq)) mesh_.book.on_loss();
    rx.ack_now = rx.ack_now || mesh_.is_go_back() || fills_hole || before(rx.end, view.seq);
    if (mesh_.is_go_back()) return false;
  }
  if (!at_once) {
    const auto ahead = static_cast<std::uint32_t>(distance(rx.delivered, view.seq));
    mesh_.buffered.push(ch);
    if (!rx.reorder.keep(view.seq, ahead, view.flags, view.body, mesh_.reorder_pool)) return false;
  }
  if (fills_hole) rx.ack_now = true;
  ++mesh_.counters.received;
  mesh_.counters.received_bytes += view.body.size();
  const auto undo = [&rx, newest = rx.newest, at = rx.newest_at, copies = rx.newest_copies, end = rx.end] {
    rx.newest = newest, rx.newest_at = at, rx.newest_copies = copies, rx.end = end;
  };
  rx.newest = view.seq;
  rx.newest_at = now;
  rx.newest_copies = view.flags >> wire::kCopiesShift;
  rx.has_received = true;
  ++rx.unacked;
  const std::uint32_t credit = view.body.size() <= kSmallBody ? 1 : kSmallPerCredit;
  rx.unacked_credit = static_cast<std::uint16_t>(rx.unacked_credit + credit);
  note_backlog(ch, now, view);
  if (rx.credit.backlogged) mesh_.book.on_packet(now);
  if (!before(view.seq, rx.end)) rx.end = view.seq + 1;
  if (in_order) ++rx.next;
  if (at_once) {
    if (deliver_body(ch, view.flags, view.body)) {
      ++rx.delivered;
    } else if (!ch.gone) {
      mesh_.buffered.push(ch);
      if (!rx.reorder.keep(view.seq, 0, view.flags, view.body, mesh_.reorder_pool)) {
        rx.next = view.seq;  // no memory either: the sender retransmits it, as no ack covers it
        undo();
        return false;
      }
      rx.redeliver_at = now + kRedeliver;
    }
  }
  while (!ch.gone && rx.reorder.has(rx.next)) ++rx.next;
  if (rx.delivered != rx.next && rx.redeliver_at == kNever) drain(ch, now);
  return true;
}

// True if all of it was delivered. The listener may call anything meanwhile, even forget_peer().
bool Receiver::deliver_body(Connection& ch, std::uint8_t flags, std::span<const std::byte> body) noexcept {
  if ((flags & wire::kFlagRecords) == 0) return mesh_.listener.deliver(ch.peer, body) == Status::ok;
  std::size_t at = ch.rx.record_at;
  while (at + wire::kRecordHead <= body.size()) {
    wire::Le<std::uint16_t> length;
    std::memcpy(&length, body.data() + at, sizeof length);
    const std::size_t end = at + wire::kRecordHead + length;
    if (end > body.size()) break;
    if (mesh_.listener.deliver(ch.peer, body.subspan(at + wire::kRecordHead, length)) != Status::ok) {
      ch.rx.record_at = static_cast<std::uint16_t>(at);
      return false;
    }
    if (ch.gone) return false;
    at = end;
  }
  ch.rx.record_at = 0;
  return true;
}

// Delivers packets from the reorder ring until a hole, or until the listener refuses one.
void Receiver::drain(Connection& ch, Instant now) noexcept {
  RecvState& rx = ch.rx;
  rx.redeliver_at = kNever;
  while (!ch.gone && rx.delivered != rx.next) {
    const Reorder::Taken kept = rx.reorder.take(rx.delivered);
    const bool done = deliver_body(ch, kept.flags, {mesh_.reorder_pool.at(kept.slot), kept.bytes});
    if (done || ch.gone) {
      mesh_.reorder_pool.give(kept.slot);
      ++rx.delivered;
      continue;
    }
    rx.reorder.put_back(rx.delivered, kept);
    rx.redeliver_at = now + kRedeliver;
    return;
  }
}

void Receiver::redeliver(Connection& ch, Instant now) noexcept {
  drain(ch, now);
  if (ch.gone || ch.rx.redeliver_at != kNever) return;
  grant(ch.rx);  // the sender may have waited for this
  ch.rx.ack_now = true;
  mesh_.wake(ch);
}

// The newest packet tells whether the sender has a backlog.
void Receiver::note_backlog(Connection& ch, Instant now, const wire::DatagramView& view) noexcept {
  RecvState& rx = ch.rx;
  const MeshConfig& config = mesh_.config;
  if (before(view.seq, rx.end)) return;
  if ((view.flags & wire::kFlagBacklog) != 0) {
    mesh_.book.set_backlogged(rx.credit, true);
    rx.backlog_until =
        now + Duration{std::max(kBacklogFor.ns, 32 * ch.links.rtt().smooth(config.first_rtt).ns)};
  } else if (view.kind == wire::DatagramKind::data) {
    mesh_.book.set_backlogged(rx.credit, false);
    rx.backlog_until = kNever;
    const Seq kept = view.seq + 1 + config.eager_packets;  // the sender returned the rest
    if (before(kept, rx.limit)) rx.limit = kept;
    rx.advertised = static_cast<std::uint16_t>(std::min<std::uint32_t>(rx.advertised, config.eager_packets));
  }
}

// Packets that were delivered free credit for others.
void Receiver::grant(RecvState& rx) noexcept {
  CreditBook& book = mesh_.book;
  const auto held = static_cast<std::uint32_t>(distance(rx.delivered, rx.next));
  const Seq received = rx.next + (rx.reorder.count() - held);
  // Fourfold in a round trip at most, so that senders that begin at the same time are known first.
  const std::uint32_t wanted =
      rx.credit.backlogged ? std::min(rx.window + kWindowStep, book.budget()) : book.eager();
  const std::uint32_t window = book.window(rx.credit, wanted);
  rx.window = static_cast<std::uint16_t>(std::min<std::uint32_t>(window, UINT16_MAX));
  Seq limit = received + window;
  const Seq furthest = rx.delivered + Reorder::kMost;
  if (before(furthest, limit)) limit = furthest;
  if (held == 0 && before(rx.limit, limit)) rx.limit = limit;
  book.set_outstanding(rx.credit, distance(received, rx.limit));
}

void Receiver::owe_ack(Connection& ch, Instant now) noexcept {
  RecvState& rx = ch.rx;
  const std::uint32_t ahead = rx.end - rx.next;
  // Beyond the reach of its bit mask an ack tells only about the newest packet.
  const bool many = ahead == 0                ? rx.unacked_credit >= ack_every(rx) * kSmallPerCredit
                    : ahead <= Cursor::kReach ? rx.unacked >= kAckEveryWithHoles
                                              : rx.unacked != 0;
  if (many) rx.ack_now = true;
  if (rx.ack_now || (rx.ack_due != kNever && rx.credit.backlogged)) return;
  // Each packet of a sender without backlog postpones the ack; a backlogged sender waits for credit.
  rx.ack_due = now + ack_delay(ch);
}

void Receiver::on_deadline(Connection& ch, Instant now) noexcept {
  RecvState& rx = ch.rx;
  if (rx.ack_due <= now) {
    rx.ack_due = kNever;
    rx.ack_now = true;
    mesh_.wake(ch);
  }
  if (rx.backlog_until <= now) {
    rx.backlog_until = kNever;
    mesh_.book.set_backlogged(rx.credit, false);
  }
}

bool Receiver::defer(Connection& ch, Instant now, Duration time) noexcept {
  RecvState& rx = ch.rx;
  if (rx.ack_due > now || !rx.deferral.may(now, kAckDeferral)) return false;
  rx.deferral.note(now);
  rx.ack_due = now + std::max(time, ack_delay(ch));
  return true;
}

// Where small packets go back and forth quickly, an ack now and then is enough: it would cost more than all
// other work on such a packet.
bool Receiver::rides_on_data(const RecvState& rx, Instant now, std::size_t body_bytes) noexcept {
  if (rx.ack_now) return true;
  if (rx.unacked == 0) return false;
  if (body_bytes > kSmallBody || rx.unacked + 1u >= ack_every(rx)) return true;
  return RecvState::clock(now) - rx.acked_at >= kQuickUs;
}

wire::AckBytes Receiver::write_ack(RecvState& rx, Instant now) noexcept {
  wire::AckPart ack;
  std::uint64_t holes = 0;
  if (rx.end != rx.next && rx.reorder.count() != 0)
    for (std::uint32_t i = 0; i < Cursor::kReach; ++i)
      holes |= std::uint64_t{rx.reorder.has(rx.next + 1 + i)} << i;
  ack.next = rx.next;
  ack.credit = rx.limit;
  rx.advertised = static_cast<std::uint16_t>(std::clamp(distance(rx.next, rx.limit), 0, int{UINT16_MAX}));
  ack.holes = holes;
  ack.newest = rx.newest;
  const std::int64_t delay_us = rx.has_received ? (now - rx.newest_at).ns / 1000 : 0;
  constexpr std::int64_t kMostDelay = (1 << wire::kDelayBits) - 1;
  ack.delay_us = static_cast<std::uint32_t>(std::clamp<std::int64_t>(delay_us, 0, kMostDelay)) |
                 std::uint32_t{rx.newest_copies} << wire::kDelayBits;
  rx.unacked = rx.unacked_credit = 0;
  rx.acked_at = RecvState::clock(now);
  rx.ack_now = false;
  rx.deferral.end();
  rx.ack_due = kNever;
  return wire::write_ack(ack);
}

}  // namespace herald::rel
