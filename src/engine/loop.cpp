// SPDX-License-Identifier: BSD-3-Clause
// engine/loop.cpp: turns, and the operations that the program starts.
#include "engine/loop.hpp"

#include <algorithm>
#include <ctime>
#include <utility>

#include "base/trace.hpp"

namespace herald::engine {
namespace {

constexpr int kQuickReceives = 16;  // without a turn for others
constexpr int kReceivePolls = 100;  // about two microseconds
constexpr Duration kCheckEvery = milliseconds(500);
constexpr int kCheckedAtOnce = 16;
constexpr Duration kAwayFor = milliseconds(50);  // no turn for so long: the program computes

}  // namespace

Instant Loop::now() const noexcept {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  return {std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec};
}

void Loop::start(p2p::SendOp& op) noexcept {
  if (local_.reaches(op.to) && local_.try_send(op)) return complete();
  const p2p::PeerId to = op.to;
  const std::int32_t lane = op.lane;
  const bool waits = op.bundled, stays = op.at_once;
  node_.core().start(op);
  if (lane < 0)
    pump(to);
  else if (!waits)
    (void)net_->pump_lane(now(), lane);
  if (stays && node_.core().direct().busy() && !in_turn_) move_direct();  // its receiver was there first
  complete();
}

void Loop::start(p2p::RecvOp& op) noexcept {
  if (!in_turn_ && node_.core().ads().may_be_advertised(op)) (void)local_.drain_from(op.awaited);
  node_.core().start(op);
  if (node_.core().wants_to_send()) pump_all();
  complete();
}

void Loop::start(p2p::FusedOp& op) noexcept {
  net_->start(now(), op);
  complete();
}

bool Loop::send_now(const p2p::ShortSend& what) noexcept {
  return !is_remote(what.to) && local_.try_send(what);
}

bool Loop::receive_now(p2p::RecvOp& op) noexcept {
  if (in_turn_ || lock_.others_want_it() || !hooks_.empty() || !departing_.empty()) return false;
  if (++quick_receives_ > kQuickReceives) {
    quick_receives_ = 0;
    progress();
  }
  if (!local_.try_receive(op, may_spin() ? kReceivePolls : 1)) return false;
  if (node_.core().wants_to_send()) pump_all();
  if (!op.done) complete();
  return true;
}

void Loop::start_matched(p2p::RecvOp& op, p2p::Message* message) noexcept {
  node_.core().start_matched(op, message);
  if (node_.core().wants_to_send()) pump_all();
  complete();
}

bool Loop::probe(std::uint64_t context, std::int32_t source, std::int32_t tag, p2p::Found& found) noexcept {
  if (node_.core().probe(context, source, tag, found)) return true;
  return progress() && node_.core().probe(context, source, tag, found);
}

bool Loop::take(std::uint64_t context, std::int32_t source, std::int32_t tag, p2p::Found& found) noexcept {
  if (node_.core().take(context, source, tag, found)) return true;
  return progress() && node_.core().take(context, source, tag, found);
}

void Loop::cancel(p2p::SendOp& op) noexcept {
  const p2p::PeerId to = op.to;
  node_.core().cancel(op);
  pump(to);
  complete();
}

void Loop::cancel(p2p::RecvOp& op) noexcept {
  node_.core().cancel(op);
  complete();
}

void Loop::forget_context(std::uint64_t context) noexcept {
  node_.core().forget_context(context);
  if (node_.core().wants_to_send()) pump_all();
  complete();
}

std::int32_t Loop::open_lane(std::uint64_t name, std::span<const p2p::PeerId> members) noexcept {
  return net_ ? net_->open_lane(name, members) : -1;
}

void Loop::close_lane(std::int32_t lane) noexcept {
  if (net_ && lane >= 0) node_.lanes().close(lane);
}

std::int32_t Loop::open_part(std::int32_t whole, std::span<const p2p::PeerId> members) noexcept {
  return net_ && whole >= 0 ? node_.lanes().open_sub_lane(whole, members) : -1;
}

void Loop::flush_lane(std::int32_t lane) noexcept {
  (void)net_->pump_lane(now(), lane);
  complete();
}

// Completions become visible, and threads that block get to look at them.
void Loop::complete() noexcept {
  node_.core().run_finished();
  const std::uint64_t finished = node_.core().counters().finished;
  if (finished == completed_) return;
  completed_ = finished;
  ++activity_;
  waiter_.wake();
}

bool Loop::pump(p2p::PeerId peer) noexcept {
  if (is_remote(peer)) return !closed_ && !node_.core().is_gone(peer) && net_->pump(now(), peer);
  if (!local_.reaches(peer)) {  // no path, or closed
    node_.core().on_peer_gone(peer);
    return true;
  }
  const bool moved = local_.pump(peer);
  if (moved && peer == rank_) waiter_.wake();
  return moved;
}

bool Loop::pump_all() noexcept {
  bool moved = false;
  for (std::size_t n = node_.core().wanting(); n != 0; --n) {
    const p2p::PeerId peer = node_.core().next_wanting();
    if (peer < 0) break;
    moved = pump(peer) || moved;
  }
  return moved;
}

// What the two sides have to say to each other about it goes out at once.
bool Loop::move_direct() noexcept {
  if (!node_.core().direct().advance(*memory_.mover())) return false;
  if (node_.core().wants_to_send()) pump_all();
  node_.core().run_finished();
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
  p2p::Core& core = node_.core();
  bool moved = local_.drain();
  if (net_) moved = turn_net() || moved;
  if (core.wants_to_send()) moved = pump_all() || moved;
  if (core.direct().busy() || core.direct().awaits_ads()) moved = move_direct() || moved;
  if (local_.some_closed() || !departing_.empty()) drain_departing();
  if (!hooks_.empty()) moved = run_hooks() || moved;
  in_turn_ = false;
  complete();
  if (moved) ++activity_;
  return moved;
}

bool Loop::turn_net() noexcept {
  const Instant time = now();
  const bool moved = net_->turn(time);
  node_.core().run_finished();
  if (node_.has_news() || node_.lanes().reports().is_due(time)) net_->print_report(time, false);
  if (!node_.has_news()) return moved;
  net_->print_events();
  for (p2p::PeerId peer = node_.take_lost(); peer >= 0; peer = node_.take_lost()) {
    process_trace.add(TraceEvent::peer_lost, std::uint64_t{0}, peer);
    lose(peer);
  }
  return true;
}

void Loop::lose(p2p::PeerId peer) noexcept {
  if (node_.core().is_gone(peer)) return;
  node_.on_peer_gone(peer);
  if (peer_died_ != nullptr) peer_died_(peer);
}

// A peer was seen to be closed or dead. What it wrote before may still lie in our inbox, and counts.
void Loop::depart(p2p::PeerId peer) noexcept {
  if (std::find(departing_.begin(), departing_.end(), peer) == departing_.end()) departing_.push_back(peer);
}

void Loop::drain_departing() noexcept {
  for (const p2p::PeerId peer : local_.take_closed()) depart(peer);
  for (const p2p::PeerId peer : std::exchange(departing_, {})) {
    if (!local_.is_drained(peer)) {
      departing_.push_back(peer);
      continue;
    }
    const bool died = !node_.core().is_gone(peer) && !local_.has_closed(peer);
    node_.core().on_peer_gone(peer);
    if (died && peer_died_ != nullptr) peer_died_(peer);
  }
}

// Peers that died without a goodbye: operations that need them fail instead of waiting for ever.
void Loop::check_local_peers() noexcept {
  if (!shm_) return;
  const Instant time = now();
  if (time < next_check_) return;
  next_check_ = time + kCheckEvery;
  for (int i = 0; i < std::min(size_, kCheckedAtOnce); ++i) {
    const int peer = next_checked_;
    next_checked_ = (next_checked_ + 1) % size_;
    if (peer != rank_ && shm_->is_attached(peer) && !is_gone(peer) && !shm_->is_alive(peer)) depart(peer);
  }
}

// On the keep-alive thread: the program has not called for a while, and peers want answers. It does not count
// as a call of the program. After close() nobody takes turns, and peers that wait for the launcher to gather
// all ranks must not wait for the dead.
void Loop::keep_alive() noexcept {
  lock_.lock();
  const Instant time = now();
  const bool away = !waiter_.is_polling() && time - node_.last_turn() >= kAwayFor;
  if (away || closed_) net_->keep_alive(time);
  const p2p::PeerId dead = closed_ ? node_.take_lost() : -1;
  lock_.unlock();
  if (dead >= 0 && peer_died_ != nullptr) peer_died_(dead);
}

bool Loop::is_under_way() const noexcept {
  const p2p::Core& core = node_.core();
  return core.sends_under_way() != 0 || core.receives_under_way() != 0 || !hooks_.empty();
}

void Loop::wake_waiters() noexcept {
  ++activity_;
  waiter_.wake();
}

void Loop::remove_hook(Hook hook, void* context) noexcept {
  const auto at = std::find_if(hooks_.begin(), hooks_.end(), [&](const HookEntry& entry) {
    return entry.hook == hook && entry.context == context;
  });
  if (at != hooks_.end()) hooks_.erase(at);
}

p2p::CoreCounters Loop::counters() const noexcept {
  p2p::CoreCounters all = node_.core().counters();
  all.held = node_.core().messages_held();
  all.mapped_bytes = memory_.mapped_bytes();
  all.kernel_bytes = memory_.kernel_bytes();
  if (!net_) return all;
  const rel::LaneCounters& lanes = node_.lanes().lanes().counters();
  all.unheard = lanes.multicast_lost;
  all.heard_again = lanes.multicast_regained;
  all.cast_packets = lanes.cast;
  all.cast_unicast = lanes.repaired_unicast;
  all.cast_missed = lanes.missed;
  all.foreign = lanes.foreign;
  all.lanes_moved = lanes.address_changes;
  all.fused_count = lanes.contributions + lanes.results;
  all.fused_resent = lanes.fused_resent;
  return all;
}

}  // namespace herald::engine
