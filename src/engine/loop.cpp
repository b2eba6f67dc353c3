// SPDX-License-Identifier: BSD-3-Clause
// engine/loop.cpp: turns.
#include "engine/loop.hpp"

#include <algorithm>
#include <ctime>

namespace herald::engine {

Instant Loop::now() const noexcept {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return {std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec};
}

void Loop::start(p2p::SendOp& op) noexcept {
  if (push_now(op)) return;
  const p2p::PeerId to = op.to;
  const std::int32_t lane = op.lane;
  const bool waits = op.bundled, stays = op.at_once;
  core_.start(op);
  if (lane < 0)
    pump(to);
  else if (!waits)
    (void)net_->pump_lane(now(), lane);
  if (stays && core_.has_direct() && !in_turn_) move_direct();  // its receiver was there first
  settle();
}

void Loop::start(p2p::RecvOp& op) noexcept {
  if (core_.may_be_advertised(op) && !in_turn_) look_for(op);
  core_.start(op);
  if (core_.wants_to_send()) pump_all();
  settle();
}

void Loop::start_matched(p2p::RecvOp& op, p2p::Message* message) noexcept {
  core_.start_matched(op, message);
  if (core_.wants_to_send()) pump_all();
  settle();
}

bool Loop::probe(std::uint64_t context, std::int32_t source, std::int32_t tag, p2p::Found& found) noexcept {
  if (core_.probe(context, source, tag, found)) return true;
  return progress() && core_.probe(context, source, tag, found);
}

bool Loop::take(std::uint64_t context, std::int32_t source, std::int32_t tag, p2p::Found& found) noexcept {
  if (core_.take(context, source, tag, found)) return true;
  return progress() && core_.take(context, source, tag, found);
}

void Loop::cancel(p2p::SendOp& op) noexcept {
  const p2p::PeerId to = op.to;
  core_.cancel(op);
  pump(to);
  settle();
}

void Loop::cancel(p2p::RecvOp& op) noexcept {
  core_.cancel(op);
  settle();
}

void Loop::forget_context(std::uint64_t context) noexcept {
  core_.forget_context(context);
  if (core_.wants_to_send()) pump_all();
  settle();
}

// Completions become visible, and threads that sleep get to look at them.
void Loop::settle() noexcept {
  core_.run_finished();
  if (core_.counters().finished == told_) return;
  told_ = core_.counters().finished;
  ++activity_;
  if (sleepers_ != 0) bell_->ring();
}

// Writes what Core has for the peer straight into the peer's cells, until its inbox is full or it is somebody
// else's turn.
bool Loop::pump(p2p::PeerId peer) noexcept {
  Outlet& to = outlet(peer);
  if (is_remote(peer)) return pump_far(peer);
  if (!to.is_open()) {  // no path, or closed
    core_.on_peer_gone(peer);
    return true;
  }
  const bool to_self = to.leads_to(self_.inbox());
  bool moved = false;
  for (int left = kPumpPackets; left != 0 && core_.wants_to_send(peer); --left) {
    if (!to_self && to.wants_ring()) to.take_ring(*shm_, rank_, peer);
    const std::span<std::byte> room = to.claim();
    if (room.empty()) {
      if (to.is_closed()) depart(peer);
      break;
    }
    // An empty packet where Core has none after all: the place is claimed and must be handed over.
    const std::size_t size = core_.poll_transmit(peer, room);
    to.publish(rank_, size);
    moved = true;
    if (!to_self) listen_now_and_then(peer, size);
  }
  if (!moved) return false;
  if (!to_self)
    to.bell().ring_if_asleep();
  else if (sleepers_ != 0)
    bell_->ring();
  return true;
}

bool Loop::pump_all() noexcept {
  bool moved = false;
  for (std::size_t n = core_.wanting(); n != 0; --n) {
    const p2p::PeerId peer = core_.next_wanting();
    if (peer < 0) break;
    moved = pump(peer) || moved;
  }
  return moved;
}

bool Loop::drain(path::Inbox& inbox) noexcept {
  int taken = 0;
  for (; taken < kDrainPackets; ++taken) {
    path::Cell* cell = inbox.front();
    if (cell == nullptr) break;
    if ((cell->size & path::Cell::kRing) != 0) {
      open_inlet(cell->from, cell->size & ~path::Cell::kRing);
      inbox.pop();
      continue;
    }
    const std::size_t size = std::min<std::size_t>(cell->size, inbox.packet_bytes());
    if (size != 0 && core_.on_packet(cell->from, {cell->packet(), size}) != Status::ok) break;  // later
    inbox.pop();
    core_.run_finished();
  }
  if (taken == 0) return false;
  inbox.feed(static_cast<std::uint64_t>(taken),
             [this](std::uint32_t producer) { ring_hungry(static_cast<p2p::PeerId>(producer)); });
  return true;
}

// What the two sides have to say to each other about it goes out at once.
bool Loop::move_direct() noexcept {
  if (!core_.move_direct(*mover_)) return false;
  if (core_.wants_to_send()) pump_all();
  core_.run_finished();
  return true;
}

bool Loop::run_hooks() noexcept {
  bool moved = false;
  for (std::size_t i = 0; i < hooks_.size(); ++i) {  // a hook may add or remove hooks
    const HookEntry entry = hooks_[i];
    moved = entry.hook(entry.context) || moved;
  }
  return moved;
}

bool Loop::progress() noexcept {
  if (in_turn_ || closed_) return false;
  in_turn_ = true;
  unheard_ = 0;
  bool moved = drain(self_.inbox());
  if (own_ != nullptr) moved = drain_all() || moved;
  if (net_) moved = turn_net() || moved;
  if (core_.wants_to_send()) moved = pump_all() || moved;
  if (core_.has_direct() || core_.awaits_ads()) moved = move_direct() || moved;
  if (!departing_.empty()) drain_departing();
  if (!hooks_.empty()) moved = run_hooks() || moved;
  in_turn_ = false;
  settle();
  if (moved) ++activity_;
  return moved;
}

// A peer was seen to be closed or dead. What it wrote before may still lie in our inbox, and counts.
void Loop::depart(p2p::PeerId peer) noexcept {
  if (std::find(departing_.begin(), departing_.end(), peer) == departing_.end()) departing_.push_back(peer);
}

void Loop::drain_departing() noexcept {
  std::vector<p2p::PeerId> left;
  left.swap(departing_);
  for (const p2p::PeerId peer : left) {
    if (!is_drained(peer)) {
      departing_.push_back(peer);
      continue;
    }
    const bool died = !core_.is_gone(peer) && !outlet(peer).is_closed();
    core_.on_peer_gone(peer);
    if (died && peer_died_ != nullptr) peer_died_(peer);
  }
}

void Loop::wake_waiters() noexcept {
  ++activity_;
  if (sleepers_ != 0) bell_->ring();
}

void Loop::ring(p2p::PeerId peer) noexcept { ring_hungry(peer); }

void Loop::add_hook(Hook hook, void* context) noexcept { hooks_.push_back({hook, context}); }

void Loop::remove_hook(Hook hook, void* context) noexcept {
  const auto at = std::find_if(hooks_.begin(), hooks_.end(), [&](const HookEntry& entry) {
    return entry.hook == hook && entry.context == context;
  });
  if (at != hooks_.end()) hooks_.erase(at);
}

}  // namespace herald::engine
