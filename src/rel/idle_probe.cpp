// SPDX-License-Identifier: BSD-3-Clause
// rel/idle_probe.cpp: signs of life of peers to whom nothing is on its way, and packets that waited for the
// listener.
#include <algorithm>

#include "rel/inner.hpp"

namespace herald::rel {

constexpr std::int64_t kWatchParts = 32;  // so often a peer is asked before it is given up

void Mesh::Inner::watch(Connection& ch, Instant now) noexcept {
  ch.watch_at = now + Duration{config.give_up.ns / kWatchParts};
  ch.tx.ask = true;
  wake(ch);
}

void Mesh::on_clock_gap(Instant now) noexcept {
  Inner& in = *inner_;
  in.rearm_changed();
  if (in.heap.empty()) return;
  const Duration late = now - in.heap.top().at;
  if (late < most_late(in.config.give_up)) return;
  const auto later = [&](Instant& since) {
    if (since != kNever) since = std::min(since + late, now);
  };
  for (Connection* const ch : in.connections) {
    if (ch == nullptr || ch->gone || ch->link == nullptr) continue;
    later(ch->asked_since);
    later(ch->last_heard);
    later(ch->tx.blocked_since);
    for (LinkId i = 0; i < ch->links; ++i) {
      later(ch->link[i].since);
      later(ch->link[i].silent_since);
    }
  }
}

void Mesh::ask(Instant now, PeerId peer) noexcept {
  Connection* const ch = inner_->find(peer);
  if (ch == nullptr || ch->gone || ch->watch_at != kNever) return;
  if (ch->link != nullptr && now - ch->last_heard < Duration{inner_->config.give_up.ns / 8}) return;
  inner_->start(*ch, now);
  if (ch->asked_since == kNever) ch->asked_since = now;
  inner_->watch(*ch, now);
  inner_->rearm(*ch, now);
}

void Mesh::hurry_acks() noexcept {
  for (Connection* const ch : inner_->connections)
    if (ch != nullptr && ch->rx.unacked != 0) {
      ch->rx.ack_now = true;
      inner_->wake(*ch);
    }
}

void Mesh::redeliver() noexcept {
  for (Connection* const ch : inner_->connections)
    if (ch != nullptr && !ch->gone && ch->rx.again_at != kNever) {
      ch->rx.again_at = Instant{};  // due at once
      inner_->heap.set(*ch, Instant{});
    }
}

bool Mesh::is_used(PeerId peer) const noexcept {
  const Connection* const ch = inner_->find(peer);
  return ch != nullptr && (ch->rx.came || ch->tx.log.end() != inner_->config.first_seq);
}

}  // namespace herald::rel
