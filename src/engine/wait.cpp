// SPDX-License-Identifier: BSD-3-Clause
// engine/wait.cpp: waiting: spinning, letting others run, sleeping.
#include <sched.h>

#include <algorithm>
#include <utility>

#include "engine/loop.hpp"

namespace herald::engine {
namespace {

constexpr Duration kLongestSleep = milliseconds(100);  // a safety net: whoever has news rings
constexpr Duration kFirstRest = microseconds(200);
constexpr int kTurnsPerClock = 32, kTurnsPerClockNet = 8;  // a turn of the net takes longer
// So long between two looks at the clock while spinning means that another process had the processor. The
// kernel's own threads do that now and then; who takes much of the time needs it, and spinning is then left
// alone for a while, longer each time that it happens again.
constexpr Duration kStolen = microseconds(15);
constexpr Duration kSoon = microseconds(50);
constexpr Duration kShortestNoSpin = milliseconds(2);
constexpr Duration kNoSpinAfterPreemption = milliseconds(32);  // every try costs all of them a millisecond
constexpr Duration kLongestNoSpin = milliseconds(500), kLongestNoYield = milliseconds(200);
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

void Loop::wait_turn() noexcept {
  const std::uint64_t before = activity_;
  Instant time;
  const bool only_net = waits_for_net(time);
  if (only_net && waiters_ == 0 && net_->is_resuming(time)) return rest_first(time);
  if (!(only_net && net_->is_at_rest(time)) && progress()) {
    slept_in_vain_ = false;
    return;
  }
  ++waiters_;
  const bool spun = spin_.spin_us != 0 && waiters_ == 1 && !slept_in_vain_ && spin(before);
  // Who is back from computing sleeps at once: those who yield keep one that has done more, and whom they may
  // wait for, from running.
  if (!spun && !slept_in_vain_ && !(alone_ && net_->just_resumed(now()))) yield_turns(before);
  if (activity_ == before) {
    const Instant begin = spun ? now() : Instant{};
    sleep();
    // Spinning brought nothing and sleeping did at once: whom we waited for needed this processor.
    if (spun && !spin_.forced && now() - begin < kSoon) stop_spinning(now(), kShortestNoSpin);
    slept_in_vain_ = activity_ == before;  // who waits for long sleeps on, but for one look
  } else {
    slept_in_vain_ = false;
  }
  --waiters_;
}

// Where all others are on other hosts and spinning is no use, a sleep is as good as a turn: it ends at once
// if something has come or is due. After a sleep there is a turn, whatever ended it. `time` is set then.
bool Loop::waits_for_net(Instant& time) noexcept {
  if (!alone_ || slept_in_vain_ || !hooks_.empty() || core_.wants_to_send() || !departing_.empty() ||
      self_.inbox().front() != nullptr)
    return false;
  time = now();
  return spin_.spin_us == 0 || time < no_spin_until_;
}

bool Loop::is_at_rest() noexcept {
  Instant time;
  return waits_for_net(time) && net_->is_at_rest(time);
}

// Others may be back at the same time, and the one that all wait for among them. So what has become due while
// we were elsewhere comes after them; what has come is taken at once.
void Loop::rest_first(Instant time) noexcept {
  ++waiters_;
  net_->rest_first(time);
  sleep(kFirstRest);
  --waiters_;
}

// After a pause one that moves makes the others wait, where all come back at once.
void Loop::check_affinity(Instant time) noexcept {
  if (!alone_ || net_->is_settled(time)) home_.look(time);
}

// Who is alone on its host sleeps until its fused exchange is over; what wakes it is most often just that.
void Loop::fused(p2p::FusedOp& op) noexcept {
  net_->start(now(), op);
  while (!op.done) {
    if (in_turn_ || !is_at_rest()) {
      wait_turn();
      continue;
    }
    ++waiters_;
    if (op.step == p2p::FusedStep::collect) yield_to_reporters(op);
    if (home_.is_time()) check_affinity(now());
    if (!op.done && op.step == p2p::FusedStep::report && may_doze())
      doze();
    else if (!op.done && !net_->is_told())
      sleep();
    --waiters_;
    in_turn_ = true;
    const bool enough = net_->short_turn(now());
    in_turn_ = false;
    if (!enough) progress();
  }
  settle();
}

// Nothing else can be meant for us: no other thread calls, no rank is near, no message is under way.
bool Loop::may_doze() noexcept {
  return !threads_ && progress_state_ == ThreadState::none && core_.receives_under_way() == 0 &&
         core_.sends_under_way() == 0 && net_->may_doze();
}

void Loop::doze() noexcept {
  polling_ = true;
  process_trace.add(TraceEvent::sleep_begin);
  const std::uint32_t depth = lock_.give_up();
  const bool came = net_->doze();
  lock_.take_back(depth);
  process_trace.add(TraceEvent::sleep_end);
  polling_ = false;
  net_->dozed(came);
}

// Those who share its processor may be about to report; one that keeps it for long does something else.
void Loop::yield_to_reporters(const p2p::FusedOp& op) noexcept {
  Instant last = now();
  for (int i = kYieldsToCollect; i != 0 && !op.done && net_->is_still(last); --i) {
    const std::uint32_t depth = lock_.give_up();
    ::sched_yield();
    lock_.take_back(depth);
    const Instant time = now();
    if (time - last > kSoon) return;
    last = time;
  }
}

// False if this is no time for it: others use the processors just now. True: all of the time, or with
// success.
bool Loop::spin(std::uint64_t before) noexcept {
  Instant last = now();
  if (last < no_spin_until_) return false;
  const Instant end = last + microseconds(spin_.spin_us);
  const int turns_per_clock = net_ ? kTurnsPerClockNet : kTurnsPerClock;
  const Spinning spinning(net_.get());
  for (int turn = 1; activity_ == before; ++turn) {
    if (!net_) relax();  // a system call is as good
    lock_.give_way();
    if (activity_ == before) progress();
    if (turn % turns_per_clock != 0) continue;
    const Instant time = now();
    if (!spin_.forced && time - last > kStolen && was_preempted() && preemptions_.add(time, time - last)) {
      stop_spinning(time, kNoSpinAfterPreemption);
      return false;
    }
    if (time > end) break;
    last = time;
  }
  if (last - no_spin_until_ > Duration{kPeace * no_spin_for_.ns}) no_spin_for_ = {};
  if (net_ && !polling_ && activity_ != before) net_->spun();
  return true;
}

// Since it was last asked. A machine that others share stands still now and then, and nobody here is the
// cause.
bool Loop::was_preempted() noexcept {
  const std::int64_t times = involuntary_switches();
  return std::exchange(switches_seen_, times) != times;
}

void Loop::stop_spinning(Instant time, Duration least) noexcept {
  no_spin_for_ = std::clamp(Duration{no_spin_for_.ns * 4}, least, kLongestNoSpin);
  no_spin_until_ = time + no_spin_for_;
}

void Loop::yield_turns(std::uint64_t before) noexcept {
  Instant last = now();
  if (last >= no_yield_until_) yields_are_long_ = false;
  const bool may_wait_long = hooks_.empty() || net_;
  for (int i = yields_are_long_ ? kYieldsBusy
               : alone_         ? kYieldsAlone
               : may_wait_long  ? kYieldsForMessage
                                : kYieldsForAll;
       i != 0 && activity_ == before; --i) {
    const std::uint32_t depth = lock_.give_up();
    ::sched_yield();
    lock_.take_back(depth);
    const Instant time = now();
    if (home_.is_new()) home_.judge(time, time - last);
    if (home_.is_time()) check_affinity(time);
    if (activity_ == before && !is_still(time)) progress();
    if (time - last > kLongYield) {
      no_yield_for_ = std::clamp(Duration{no_yield_for_.ns * 2}, kShortestNoSpin, kLongestNoYield);
      no_yield_until_ = time + no_yield_for_;
      yields_are_long_ = true;
      return;
    }
    last = time;
  }
  if (last - no_yield_until_ > kLongestNoYield) no_yield_for_ = {};
}

// No clock, no turn: with many ranks on a processor every page that is touched between two yields counts.
bool Loop::yield() noexcept {
  if (yields_are_long_) return false;
  const Instant begin = home_.is_new() ? now() : Instant{};
  const std::uint32_t depth = lock_.give_up();
  ::sched_yield();
  lock_.take_back(depth);
  if (begin != Instant{} && home_.is_new()) {
    const Instant end = now();
    home_.judge(end, end - begin);
  }
  if (home_.is_time()) home_.look(now());
  return true;
}

// Lost wake-ups: we say that we sleep, then look once more; whoever has news does it the other way round. The
// lock is held until the doorbell has been read, so a thread that completes our operation afterwards changes
// it.
void Loop::sleep(Duration least) noexcept {
  if (net_ && polling_) {
    if (progress_state_ == ThreadState::listening) {  // we had taken the flag down when we came in
      bell_->sleeping.store(progress_where_, std::memory_order_seq_cst);
      if (progress()) return;
    }
    return sleep_inside();
  }
  std::uint32_t seen = 0;
  if (!prepare_to_block(seen)) return;
  ++sleepers_;
  process_trace.add(TraceEvent::sleep_begin);
  rest(seen, least, kLongestSleep);
  process_trace.add(TraceEvent::sleep_end);
  --sleepers_;
  after_wake();
}

// Says that we sleep, then looks once more; false: there was something to do. Where nobody writes into our
// memory there is nothing to look at: sockets wake us for what has come before, too.
bool Loop::prepare_to_block(std::uint32_t& seen) noexcept {
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

// Without the lock, until somebody rings. What is due before `least` is over waits for that.
void Loop::rest(std::uint32_t seen, Duration least, Duration longest) noexcept {
  polling_ = net_ != nullptr;
  const Instant next = net_ ? net_->find_due() : Instant{}, time = net_ ? now() : Instant{};
  const Instant due = std::max(next, time + least);
  Net::Woken why;
  const std::uint32_t depth = lock_.give_up();
  if (net_)
    why = net_->sleep(time, due, longest);
  else
    bell_->sleep(seen, longest.ns);
  lock_.take_back(depth);
  polling_ = false;
  if (net_) net_->woke(why);
  if (why.bell) bell_socket_.drain();
}

void Loop::after_wake() noexcept {
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

}  // namespace herald::engine
