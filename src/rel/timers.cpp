// SPDX-License-Identifier: BSD-3-Clause
// rel/timers.cpp: when a channel wants to be called, and what it does then.
#include <algorithm>

#include "rel/inner.hpp"

namespace herald::rel {
namespace {

constexpr std::uint8_t kDataAsks = 2;    // the first timeouts in a row repeat data, later ones only ask ...
constexpr std::uint8_t kDataEvery = 4;   // ... but for every fourth
constexpr std::uint8_t kPersistent = 3;  // timeouts in a row that shrink the window
constexpr std::uint32_t kLeastCap = 2;
constexpr Duration kLeastStep =
    microseconds(1);  // a deadline that was just served is not served again at once

}  // namespace

Instant Mesh::Inner::give_up_at(const Connection& ch) const noexcept {
  if (ch.asked_since == kNever) return kNever;
  return std::max(ch.asked_since, ch.last_heard) + give_up_after(config.give_up);
}

// Without credit and with nothing on its way: when to ask whether there is credit now.
Instant Mesh::Inner::ask_at(const Connection& ch) const noexcept {
  if (ch.tx.blocked_since == kNever) return kNever;
  const std::int64_t base = rtt_of(ch).timeout(config.first_rtt, config.least_timeout).ns;
  return ch.tx.blocked_since + Duration{base << std::min<int>(ch.tx.blocked_asks, 4)};
}

Instant Mesh::Inner::deadline_of(const Connection& ch) const noexcept {
  Instant at = std::min({ch.rx.ack_due, ch.rx.again_at, ch.rx.asks_until, ch.tx.loss_at, ch.tx.pace_wake});
  for (const Link& link : ch.all_links()) {
    if (link.in_flight > 0) at = std::min(at, link.since + timeout_of(link));
    at = std::min(at, link.probe_at);
  }
  at = std::min({at, ask_at(ch), ch.watch_at});
  return std::min(at, give_up_at(ch));
}

void Mesh::Inner::rearm(Connection& ch, Instant now) noexcept {
  if (ch.link == nullptr) return;
  Sender& tx = ch.tx;
  const bool blocked = tx.refused && tx.log.empty() && !before(tx.log.end(), tx.limit());
  if (!blocked) {
    tx.blocked_since = kNever;
    tx.blocked_asks = 0;
  } else if (tx.blocked_since == kNever) {
    tx.blocked_since = now;
  }
  if (tx.in_flight == 0) tx.loss_at = kNever;
  if (tx.log.empty() && !blocked && ch.watch_at == kNever) ch.asked_since = kNever;
  const Instant at = deadline_of(ch);
  if (at == kNever) {
    heap.remove(ch);
  } else {
    heap.set(ch, std::max(at, now + kLeastStep));
  }
}

void Mesh::Inner::on_timers(Connection& ch, Instant now) noexcept {
  Sender& tx = ch.tx;
  Receiver& rx = ch.rx;
  if (give_up_at(ch) <= now) {
    forget(ch);
    ++counters.peers_lost;
    listener.peer_lost(ch.peer);
    return;
  }
  if (rx.ack_due <= now) {
    rx.ack_due = kNever;
    rx.ack_now = true;
    wake(ch);
  }
  if (rx.asks_until <= now) {
    rx.asks_until = kNever;
    book.set_asks(rx.credit, false);
  }
  if (tx.loss_at <= now) find_losses(ch, now, false);
  if (tx.pace_wake <= now) {
    tx.pace_wake = kNever;
    wake(ch);
  }
  for (LinkId i = 0; i < ch.links; ++i) {
    const Link& link = ch.link[i];
    if (link.in_flight > 0 && link.since + timeout_of(link) <= now) on_link_timeout(ch, now, i);
    if (link.probe_at <= now) on_probe_time(ch, now, i);
  }
  if (ask_at(ch) <= now) {
    if (ch.asked_since == kNever) ch.asked_since = tx.blocked_since;
    if (tx.blocked_asks != 0) ask_elsewhere(ch, now);
    tx.blocked_since = now;
    if (tx.blocked_asks < 255) ++tx.blocked_asks;
    tx.ask = true;
    wake(ch);
  }
  if (ch.watch_at <= now) {
    ask_elsewhere(ch, now);
    watch(ch, now);
  }
  if (rx.again_at <= now) {
    drain(ch, now);
    if (ch.gone || rx.again_at != kNever) return;
    grant(ch);  // the sender may have waited for this
    rx.ack_now = true;
    wake(ch);
  }
}

bool Mesh::Inner::deferral(Connection& ch, Instant now, Duration time) noexcept {
  Sender& tx = ch.tx;
  Receiver& rx = ch.rx;
  bool some = false;
  if (rx.ack_due <= now && rx.deferral.may(now, kAckDeferral)) {
    rx.deferral.note(now);
    rx.ack_due = now + std::max(time, rtt_of(ch).ack_delay(config.first_rtt, config.least_timeout));
    some = true;
  }
  if (!tx.deferral.may(now, kRepeatDeferral)) return some;
  for (Link& link : ch.all_links()) {
    if (link.in_flight == 0 || link.timeouts != 0 || now < link.since + timeout_of(link)) continue;
    link.since = now + time;
    tx.deferral.note(now);
    some = true;
  }
  return some;
}

// Nothing that was sent by this link was acknowledged for a timeout.
void Mesh::Inner::on_link_timeout(Connection& ch, Instant now, LinkId link) noexcept {
  Sender& tx = ch.tx;
  Link& by = ch.link[link];
  if (ch.asked_since == kNever) ch.asked_since = by.since;
  if (by.timeouts < 255) ++by.timeouts;
  by.jitter = static_cast<std::uint8_t>(prng.below(256));
  by.since = now;
  by.busy = false;
  if (has_other(ch, link)) {
    suspect(ch, now, link);
    tx.ask_data = true;
    return;
  }
  if (by.timeouts >= kPersistent) tx.cap = std::max(kLeastCap, tx.cap / 2);
  if (is_go_back()) {
    lose_all(ch);
  } else if (by.timeouts <= kDataAsks || by.timeouts % kDataEvery == 0) {
    lose_oldest(ch, link);
  } else {
    tx.ask = true;
  }
  tx.ask_data = true;
  tx.asked = true;
  wake(ch);
}

}  // namespace herald::rel
