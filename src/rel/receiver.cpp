// SPDX-License-Identifier: BSD-3-Clause
// rel/receiver.cpp: what data brings: delivery once and in order, credit, and the ack that is owed.
#include <algorithm>
#include <cstring>

#include "rel/inner.hpp"

namespace herald::rel {
namespace {

constexpr std::uint32_t kLeastAckEvery = 4, kMostAckEvery = 44;  // packets
constexpr std::uint32_t kAckEveryWithHoles = 2;
constexpr std::uint32_t kOpens = 3;              // packets more for each that comes, while the sender asks
constexpr Duration kAgain = microseconds(200);   // before the listener is asked again
constexpr Duration kAsksFor = milliseconds(20);  // an asker that sends nothing, at least

}  // namespace

void Mesh::Inner::on_data(Connection& ch, Instant now, LinkId link, const wire::DatagramView& view) noexcept {
  Receiver& rx = ch.rx;
  if ((view.flags & wire::kFlagAskAck) != 0) rx.ack_now = true;
  if (link < ch.links) rx.link = link;
  if (before(view.seq, rx.next) || rx.reorder.has(view.seq)) {
    ++counters.duplicates;  // our ack was lost, or is late
    rx.ack_now = true;
  } else if (view.seq - rx.delivered >= Reorder::kMost) {  // modulo 2^32: too far either way
    ++counters.stale;
  } else if (accept(ch, now, view)) {
    if (ch.gone) return;
    grant(ch);
    owe_ack(ch, now);
  }
  if (rx.ack_now) wake(ch);
}

// False: it was not taken, as if it had been lost.
bool Mesh::Inner::accept(Connection& ch, Instant now, const wire::DatagramView& view) noexcept {
  Receiver& rx = ch.rx;
  const bool in_order = view.seq == rx.next;
  const bool at_once = in_order && rx.delivered == rx.next;
  const bool filled = rx.reorder.count() != 0 && before(view.seq, rx.end);
  if (!in_order) {
    ++counters.out_of_order;
    rx.ack_now = rx.ack_now || is_go_back() || filled || before(rx.end, view.seq);
    if (is_go_back()) return false;
  }
  if (!at_once) {
    const auto ahead = static_cast<std::uint32_t>(distance(rx.delivered, view.seq));
    warm.push(ch);
    if (!rx.reorder.keep(view.seq, ahead, view.flags, view.body, kept_pool)) return false;
  }
  if (filled) rx.ack_now = true;
  ++counters.received;
  counters.received_bytes += view.body.size();
  const auto put_back = [&rx, newest = rx.newest, at = rx.newest_at, copies = rx.copies, end = rx.end] {
    rx.newest = newest, rx.newest_at = at, rx.copies = copies, rx.end = end;
  };
  rx.newest = view.seq;
  rx.newest_at = now;
  rx.copies = view.flags >> wire::kCopiesShift;
  rx.came = true;
  ++rx.unacked;
  rx.used = static_cast<std::uint16_t>(rx.used + (view.body.size() <= kSmallBody ? 1 : kSmallPerCredit));
  note_backlog(ch, now, view);
  if (!before(view.seq, rx.end)) rx.end = view.seq + 1;
  if (in_order) ++rx.next;
  if (at_once) {
    if (deliver_body(ch, view.flags, view.body)) {
      ++rx.delivered;
    } else if (!ch.gone) {
      warm.push(ch);
      if (!rx.reorder.keep(view.seq, 0, view.flags, view.body, kept_pool)) {
        rx.next = view.seq;  // no memory either: the sender repeats it, if no ack names it
        put_back();
        return false;
      }
      rx.again_at = now + kAgain;
    }
  }
  while (!ch.gone && rx.reorder.has(rx.next)) ++rx.next;
  if (rx.delivered != rx.next && rx.again_at == kNever) drain(ch, now);
  return true;
}

// True if all of it was delivered. The listener may do anything meanwhile, even forget the peer.
bool Mesh::Inner::deliver_body(Connection& ch, std::uint8_t flags, std::span<const std::byte> body) noexcept {
  if ((flags & wire::kFlagRecords) == 0) return listener.deliver(ch.peer, body) == Status::ok;
  std::size_t at = ch.rx.record_at;
  while (at + wire::kRecordHead <= body.size()) {
    wire::Le<std::uint16_t> length;
    std::memcpy(&length, body.data() + at, sizeof length);
    const std::size_t end = at + wire::kRecordHead + length;
    if (end > body.size()) break;
    if (listener.deliver(ch.peer, body.subspan(at + wire::kRecordHead, length)) != Status::ok) {
      ch.rx.record_at = static_cast<std::uint16_t>(at);
      return false;
    }
    if (ch.gone) return false;
    at = end;
  }
  ch.rx.record_at = 0;
  return true;
}

// Delivers what was kept, as far as it goes.
void Mesh::Inner::drain(Connection& ch, Instant now) noexcept {
  Receiver& rx = ch.rx;
  rx.again_at = kNever;
  while (!ch.gone && rx.delivered != rx.next) {
    const Reorder::Taken kept = rx.reorder.take(rx.delivered);
    const bool done = deliver_body(ch, kept.flags, {kept_pool.at(kept.slot), kept.bytes});
    if (done || ch.gone) {
      kept_pool.give(kept.slot);
      ++rx.delivered;
      continue;
    }
    rx.reorder.put_back(rx.delivered, kept);
    rx.again_at = now + kAgain;
    return;
  }
}

// What the sender says of its backlog, in the newest that it sent.
void Mesh::Inner::note_backlog(Connection& ch, Instant now, const wire::DatagramView& view) noexcept {
  Receiver& rx = ch.rx;
  if (view.kind == wire::DatagramKind::ack && (view.flags & wire::kFlagAskAck) != 0) {
    rx.ack_now = true;
    wake(ch);
  }
  if (before(view.seq, rx.end)) return;
  if ((view.flags & wire::kFlagBacklog) != 0) {
    book.set_asks(rx.credit, true);
    const Duration silence{std::max(kAsksFor.ns, 32 * rtt_of(ch).smooth(config.first_rtt).ns)};
    rx.asks_until = now + silence;
  } else if (view.kind == wire::DatagramKind::data) {
    book.set_asks(rx.credit, false);
    rx.asks_until = kNever;
    const Seq kept = view.seq + 1 + config.eager_packets;  // the sender gave the rest back
    if (before(kept, rx.limit)) rx.limit = kept;
    rx.told = static_cast<std::uint16_t>(std::min<std::uint32_t>(rx.told, config.eager_packets));
  }
}

// Packets that have come leave room for others.
void Mesh::Inner::grant(Connection& ch) noexcept {
  Receiver& rx = ch.rx;
  const auto held = static_cast<std::uint32_t>(distance(rx.delivered, rx.next));
  const Seq received = rx.next + (rx.reorder.count() - held);
  // Fourfold in a round trip at most, so that others who begin at the same time are known first.
  const std::uint32_t wanted = rx.credit.asks ? std::min(rx.window + kOpens, book.budget()) : book.eager();
  const std::uint32_t window = book.window(rx.credit, wanted);
  rx.window = static_cast<std::uint16_t>(std::min<std::uint32_t>(window, UINT16_MAX));
  Seq limit = received + window;
  const Seq furthest = rx.delivered + Reorder::kMost;
  if (before(furthest, limit)) limit = furthest;
  if (held == 0 && before(rx.limit, limit)) rx.limit = limit;
  book.set_outstanding(rx.credit, distance(received, rx.limit));
}

// A part of the window that the sender knows of: by our own we would fall behind it while it opens.
std::uint32_t Mesh::Inner::ack_every(const Receiver& rx) noexcept {
  const std::uint32_t window = std::min(rx.window, rx.told);
  const std::uint32_t least = std::min(kLeastAckEvery, std::max(window / 2u, 1u));
  // Who has little to send does not wait for it: most of what it may send is on its way before it hears.
  return std::clamp(rx.credit.asks ? window / 3u : window * 3u / 4u, least, kMostAckEvery);
}

void Mesh::Inner::owe_ack(Connection& ch, Instant now) noexcept {
  Receiver& rx = ch.rx;
  const std::uint32_t ahead = rx.end - rx.next;
  // Of what is far ahead an ack tells the newest only.
  const bool many = ahead == 0                ? rx.used >= ack_every(rx) * kSmallPerCredit
                    : ahead <= Cursor::kReach ? rx.unacked >= kAckEveryWithHoles
                                              : rx.unacked != 0;
  if (many) rx.ack_now = true;
  if (rx.ack_now || (rx.ack_due != kNever && rx.credit.asks)) return;
  // Who has little to send counts on the next packet; who waits for credit wants to hear soon.
  rx.ack_due = now + rtt_of(ch).ack_delay(config.first_rtt, config.least_timeout);
}

wire::AckBytes Mesh::Inner::write_ack(Connection& ch, Instant now) noexcept {
  Receiver& rx = ch.rx;
  wire::AckPart ack;
  std::uint64_t holes = 0;
  if (rx.end != rx.next && rx.reorder.count() != 0)
    for (std::uint32_t i = 0; i < Cursor::kReach; ++i)
      holes |= std::uint64_t{rx.reorder.has(rx.next + 1 + i)} << i;
  ack.next = rx.next;
  ack.credit = rx.limit;
  rx.told = static_cast<std::uint16_t>(std::clamp(distance(rx.next, rx.limit), 0, int{UINT16_MAX}));
  ack.holes = holes;
  ack.newest = rx.newest;
  const std::int64_t delay_us = rx.came ? (now - rx.newest_at).ns / 1000 : 0;
  constexpr std::int64_t kMostDelay = (1 << wire::kDelayBits) - 1;
  ack.delay_us = static_cast<std::uint32_t>(std::clamp<std::int64_t>(delay_us, 0, kMostDelay)) |
                 std::uint32_t{rx.copies} << wire::kDelayBits;
  rx.unacked = rx.used = 0;
  rx.acked_at = Receiver::clock(now);
  rx.ack_now = false;
  rx.deferral.end();
  rx.ack_due = kNever;
  return wire::write_ack(ack);
}

}  // namespace herald::rel
