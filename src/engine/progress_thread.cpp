// SPDX-License-Identifier: BSD-3-Clause
#include "engine/progress_thread.hpp"

#include <sched.h>

#include "engine/engine.hpp"

namespace herald::engine {
namespace {

constexpr Duration kListen = milliseconds(100);  // a safety net, as for every thread that blocks
constexpr Duration kParked = milliseconds(100);  // until the next turn for service calls

// The thread leaves the processor where the program computes, if it may run on another one.
void keep_off(int cpu, const cpu_set_t& all) noexcept {
  if (cpu < 0 || ::sched_getcpu() != cpu) return;
  cpu_set_t others = all;
  CPU_CLR(static_cast<std::size_t>(cpu), &others);
  if (CPU_COUNT(&others) != 0) (void)::sched_setaffinity(0, sizeof others, &others);
}

}  // namespace

bool ProgressThread::start() noexcept {
  const bool first = !lock_.active();
  if (first) lock_.activate();
  lock_.lock();
  on_enter();
  waiter_.doorbell().use_fences();
  stop_ = false;
  state_ = State::awake;
  if (!thread_.start([](void* self) { static_cast<ProgressThread*>(self)->run(); }, this, Duration{}))
    state_ = State::none;
  if (first) return true;
  on_leave();
  lock_.unlock();
  return false;
}

void ProgressThread::stop() noexcept {
  if (!is_running()) return;
  stop_ = true;
  wake();
  const std::uint32_t depth = lock_.give_up();  // the thread needs it to end
  thread_.stop();
  lock_.take_back(depth);
  state_ = State::none;
}

void ProgressThread::wake() noexcept {
  switch (state_) {
    case State::none:
    case State::forbidden:
    case State::wanted:
    case State::awake: return;
    case State::parked: own_doorbell_.mark_sleeping(path::Doorbell::kOnFutex); return own_doorbell_.ring();
    case State::listening:
      waiter_.doorbell().mark_sleeping(waiter_.where());
      return waiter_.doorbell().ring();
  }
}

void ProgressThread::on_enter() noexcept {
  ++inside_;
  if (state_ == State::listening && !waiter_.some_blocked()) waiter_.doorbell().awake();
}

// Announces that a thread listens, then looks once more; a peer with news does it the other way round.
void ProgressThread::on_leave() noexcept {
  if (--inside_ != 0 || !is_running() || engine_.transport().is_closed()) return;
  program_cpu_ = ::sched_getcpu();
  if (state_ == State::awake || !engine_.is_under_way()) return;
  if (state_ == State::parked || engine_.transport().wants_turn()) return wake();
  waiter_.doorbell().mark_sleeping(waiter_.where());
  if (engine_.transport().has_local_news()) waiter_.doorbell().ring();
}

bool ProgressThread::relisten() noexcept {
  if (state_ != State::listening) return false;
  waiter_.doorbell().mark_sleeping(waiter_.where());
  return engine_.progress();
}

// Holds the lock except while it blocks.
void ProgressThread::run() noexcept {
  cpu_set_t all;
  CPU_ZERO(&all);
  (void)::sched_getaffinity(0, sizeof all, &all);
  lock_.lock();
  while (!stop_) {
    if (inside_ == 0) keep_off(program_cpu_, all);
    const bool alone = inside_ == 0 && !engine_.transport().is_closed();
    if (alone && engine_.progress()) {
      lock_.give_way();
      continue;
    }
    if (alone && engine_.is_under_way() && !waiter_.is_polling())
      listen();
    else
      park();
  }
  lock_.unlock();
}

void ProgressThread::listen() noexcept {
  std::uint32_t seen = 0;
  if (!waiter_.prepare(seen)) return;
  state_ = State::listening;
  waiter_.block(seen, kListen);
  state_ = State::awake;
  waiter_.after_block();
}

void ProgressThread::park() noexcept {
  const std::uint32_t seen = own_doorbell_.before_sleep();
  state_ = State::parked;
  const std::uint32_t depth = lock_.give_up();
  own_doorbell_.sleep(seen, kParked.ns);
  lock_.take_back(depth);
  state_ = State::awake;
}

}  // namespace herald::engine
