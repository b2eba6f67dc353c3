// SPDX-License-Identifier: BSD-3-Clause
// engine/loop.cpp: turns, waiting and sleeping.
#include "engine/loop.hpp"

#include <sched.h>

#include <algorithm>
#include <ctime>
#include <utility>

namespace herald::engine {
namespace {

constexpr Duration kLongestSleep = milliseconds(100);  // a safety net: whoever has news rings
constexpr int kTurnsPerClock = 32;
// So long between two looks at the clock while spinning means that another process had the processor. The
// kernel's own threads do that now and then; who takes much of the time needs it, and spinning is then left
// alone for a while, longer each time that it happens again.
constexpr Duration kStolen = microseconds(40);
constexpr Duration kSoon = microseconds(50);
constexpr Duration kShortestNoSpin = milliseconds(2);
constexpr Duration kLongestNoSpin = milliseconds(200);
constexpr std::int64_t kPeace = 8;  // times as long without trouble: it is forgotten
// A yield that takes so long gave the processor to one who keeps it for all of its time slice. Then sleeping
// is better: who is woken goes before such ones, who yields comes after them.
constexpr Duration kLongYield = milliseconds(1);

// As long as it lives, the net knows that we spin.
class Spinning {
 public:
  explicit Spinning(Net* net) noexcept : net_(net) {
    if (net_ != nullptr) net_->set_spinning(true);
  }
  ~Spinning() {
    if (net_ != nullptr) net_->set_spinning(false);
  }
  Spinning(const Spinning&) = delete;
  Spinning& operator=(const Spinning&) = delete;

 private:
  Net* net_;
};

}  // namespace

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
  if (core_.may_be_offered(op) && !in_turn_) look_for(op);
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

// Writes what Core has for the peer straight into the peer's cells, until its inbox is full.
bool Loop::pump(p2p::PeerId peer) noexcept {
  Outlet& to = outlet(peer);
  if (is_far(peer)) return pump_far(peer);
  if (!to.is_open()) {  // no path, or closed
    core_.on_peer_gone(peer);
    return true;
  }
  const bool to_self = to.leads_to(self_.inbox());
  bool moved = false;
  while (core_.wants_to_send(peer)) {
    if (!to_self && to.wants_ring()) to.take_ring(*shm_, rank_, peer);
    const std::span<std::byte> room = to.claim();
    if (room.empty()) {
      if (to.is_closed()) depart(peer);
      break;
    }
    // An empty packet where Core has none after all: the place is claimed and must be handed over.
    to.publish(rank_, core_.poll_transmit(peer, room));
    moved = true;
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
  bool moved = drain(self_.inbox());
  if (own_ != nullptr) moved = drain_all() || moved;
  if (net_) moved = turn_net() || moved;
  if (core_.wants_to_send()) moved = pump_all() || moved;
  if (core_.has_direct() || core_.hopes_for_offers()) moved = move_direct() || moved;
  if (!departing_.empty()) see_off();
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

void Loop::see_off() noexcept {
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

void Loop::wait_turn() noexcept {
  const std::uint64_t before = activity_;
  if (progress()) {
    slept_in_vain_ = false;
    return;
  }
  ++waiters_;
  const bool spun = spin_.spin_us != 0 && waiters_ == 1 && !slept_in_vain_ && spin(before);
  if (!spun && !slept_in_vain_) yield_turns(before);
  if (activity_ == before) {
    const Instant begin = spun ? now() : Instant{};
    sleep();
    // Spinning brought nothing and sleeping did at once: whom we waited for needed this processor.
    if (spun && !spin_.stubborn && now() - begin < kSoon) stop_spinning(now());
    slept_in_vain_ = activity_ == before;  // who waits for long sleeps on, but for one look
  } else {
    slept_in_vain_ = false;
  }
  --waiters_;
}

// False if this is no time for it: others use the processors just now. True: all of the time, or with
// success.
bool Loop::spin(std::uint64_t before) noexcept {
  Instant last = now();
  if (last < no_spin_until_) return false;
  const Instant end = last + microseconds(spin_.spin_us);
  const Spinning spinning(net_.get());
  for (int turn = 1; activity_ == before; ++turn) {
    if (!net_) relax();  // a system call is as good
    lock_.give_way();
    if (activity_ == before) progress();
    if (turn % kTurnsPerClock != 0) continue;
    const Instant time = now();
    if (!spin_.stubborn && time - last > kStolen && was_put_off() && thefts_.add(time, time - last)) {
      stop_spinning(time);
      return false;
    }
    if (time > end) break;
    last = time;
  }
  if (last - no_spin_until_ > Duration{kPeace * no_spin_for_.ns}) no_spin_for_ = {};
  return true;
}

// Since it was last asked. A machine that others share stands still now and then, and nobody here is the
// cause.
bool Loop::was_put_off() noexcept {
  const std::int64_t times = times_put_off();
  return std::exchange(put_off_, times) != times;
}

void Loop::stop_spinning(Instant time) noexcept {
  no_spin_for_ = std::clamp(Duration{no_spin_for_.ns * 2}, kShortestNoSpin, kLongestNoSpin);
  no_spin_until_ = time + no_spin_for_;
}

void Loop::yield_turns(std::uint64_t before) noexcept {
  Instant last = now();
  if (last >= no_yield_until_) yields_are_long_ = false;
  for (int i = yields_are_long_ ? kYieldsBusy
               : alone_         ? kYieldsAlone
               : hooks_.empty() ? kYieldsForMessage
                                : kYieldsForAll;
       i != 0 && activity_ == before; --i) {
    const std::uint32_t depth = lock_.give_up();
    ::sched_yield();
    lock_.take_back(depth);
    const Instant time = now();
    if (activity_ == before && !is_still(time)) progress();
    if (time - last > kLongYield) {
      no_yield_for_ = std::clamp(Duration{no_yield_for_.ns * 2}, kShortestNoSpin, kLongestNoSpin);
      no_yield_until_ = time + no_yield_for_;
      yields_are_long_ = true;
      return;
    }
    last = time;
  }
  if (last - no_yield_until_ > kLongestNoSpin) no_yield_for_ = {};
}

// No clock, no turn: with many ranks on a processor every page that is touched between two yields counts.
bool Loop::yield() noexcept {
  if (yields_are_long_) return false;
  const std::uint32_t depth = lock_.give_up();
  ::sched_yield();
  lock_.take_back(depth);
  return true;
}

// Lost wake-ups: we say that we sleep, then look once more; whoever has news does it the other way round. The
// lock is held until the doorbell has been read, so a thread that completes our operation afterwards changes
// it.
void Loop::sleep() noexcept {
  if (net_ && polling_) {
    if (assist_ == Assist::listening) {  // we had taken the flag down when we came in
      bell_->sleeping.store(assist_where_, std::memory_order_seq_cst);
      if (progress()) return;
    }
    return sleep_inside();
  }
  std::uint32_t seen = 0;
  if (!lie_down(seen)) return;
  ++sleepers_;
  process_trace.add(TraceEvent::sleep_begin);
  rest(seen, kLongestSleep);
  process_trace.add(TraceEvent::sleep_end);
  --sleepers_;
  get_up();
}

// Says that we sleep, then looks once more; false: there was something to do. Where nobody writes into our
// memory there is nothing to look at: sockets wake us for what has come before, too.
bool Loop::lie_down(std::uint32_t& seen) noexcept {
  seen = bell_->before_sleep(net_ ? path::Doorbell::kOnSocket : path::Doorbell::kOnFutex);
  if (alone_) return true;
  for (std::size_t n = core_.wanting(); n != 0; --n) {
    const p2p::PeerId peer = core_.next_wanting();
    if (peer >= 0 && outlet(peer).is_open()) outlet(peer).starve(rank_);
  }
  if (!progress()) return true;
  if (sleepers_ == 0) bell_->awake();
  return false;
}

// Without the lock, until somebody rings.
void Loop::rest(std::uint32_t seen, Duration longest) noexcept {
  polling_ = net_ != nullptr;
  const Duration limit = net_ ? net_->sleep_limit(now(), longest) : longest;
  Net::Woken why;
  const std::uint32_t depth = lock_.give_up();
  if (net_)
    why = net_->sleep(limit);
  else
    bell_->sleep(seen, limit.ns);
  lock_.take_back(depth);
  polling_ = false;
  if (net_) net_->woke(why);
  if (why.bell) bell_socket_.drain();
}

void Loop::get_up() noexcept {
  if (net_ && sleepers_ != 0) inner_bell_.ring();  // somebody else may want to sleep on the sockets
  if (net_ || sleepers_ == 0) bell_->awake();
  look_after_peers();
}

// Another thread sleeps on the sockets and wakes us when it comes back.
void Loop::sleep_inside() noexcept {
  const std::uint32_t seen = inner_bell_.before_sleep();
  ++sleepers_;
  const std::uint32_t depth = lock_.give_up();
  inner_bell_.sleep(seen, kLongestSleep.ns);
  lock_.take_back(depth);
  --sleepers_;
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
