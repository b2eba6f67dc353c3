// SPDX-License-Identifier: BSD-3-Clause
// engine/progress_thread.cpp: the progress thread: a thread of ours that takes turns while the program
// computes, so that pulls, long messages and nonblocking collectives go on (paper 002, parallelism of the
// processors).
//
// It works under the one lock like any thread of the program, and sleeps on the same doorbell. The doorbell
// is for it only while the program is outside and something is under way: a call takes its flag down when it
// comes in (come_in) and puts it up again when it goes (go_out), so that peers need not ring for somebody who
// looks anyway. Where nothing is under way, or somebody of the program is inside, it is parked on a futex of
// its own.
#include <sched.h>

#include "engine/loop.hpp"

namespace herald::engine {
namespace {

constexpr Duration kProgressSleep = milliseconds(100);  // a safety net, as for everybody who sleeps
constexpr Duration kParked = milliseconds(60'000);

// By the progress thread: not where the program computes, if there is any other place.
void keep_off(int cpu, const cpu_set_t& all) noexcept {
  if (cpu < 0 || ::sched_getcpu() != cpu) return;
  cpu_set_t others = all;
  CPU_CLR(static_cast<std::size_t>(cpu), &others);
  if (CPU_COUNT(&others) != 0) (void)::sched_setaffinity(0, sizeof others, &others);
}

}  // namespace

bool Loop::start_progress_thread() noexcept {
  const bool first = !lock_.active();
  if (first) lock_.activate();  // else others look at it
  lock();                       // the thread says what it does as soon as it has it
  bell_->be_careful();
  progress_stop_ = false;
  progress_state_ = ThreadState::awake;
  if (!progress_thread_.start([](void* self) { static_cast<Loop*>(self)->progress_thread(); }, this,
                              Duration{}))
    progress_state_ = ThreadState::none;
  if (!first) unlock();
  return first;
}

void Loop::stop_progress_thread() noexcept {
  if (progress_state_ == ThreadState::none || progress_state_ == ThreadState::wanted) return;
  progress_stop_ = true;
  wake_progress_thread();
  const std::uint32_t depth = lock_.give_up();  // the thread needs it to see that it is to end
  progress_thread_.stop();
  lock_.take_back(depth);
  progress_state_ = ThreadState::none;
}

bool Loop::is_under_way() const noexcept {
  return core_.sends_under_way() != 0 || core_.receives_under_way() != 0 || !hooks_.empty();
}

void Loop::wake_progress_thread() noexcept {
  switch (progress_state_) {
    case ThreadState::none:
    case ThreadState::wanted:
    case ThreadState::awake: return;
    case ThreadState::parked:
      progress_bell_.sleeping.store(path::Doorbell::kOnFutex, std::memory_order_relaxed);
      return progress_bell_.ring();
    case ThreadState::listening:
      bell_->sleeping.store(progress_where_, std::memory_order_seq_cst);
      return bell_->ring();
  }
}

void Loop::enter() noexcept {
  ++inside_;
  if (progress_state_ == ThreadState::listening && sleepers_ == 0) bell_->awake();
}

// Puts the flag up, then looks once more: who has news does it the other way round.
void Loop::leave_lock() noexcept {
  if (--inside_ != 0 || closed_ || progress_state_ == ThreadState::none ||
      progress_state_ == ThreadState::wanted)
    return;
  program_cpu_ = ::sched_getcpu();
  if ((progress_state_ != ThreadState::parked && progress_state_ != ThreadState::listening) ||
      !is_under_way())
    return;
  if (progress_state_ == ThreadState::parked || core_.wants_to_send() || core_.has_direct())
    return wake_progress_thread();
  bell_->sleeping.store(progress_where_, std::memory_order_seq_cst);
  if (has_news()) bell_->ring();
}

// The thread. It holds the lock but while it sleeps.
void Loop::progress_thread() noexcept {
  cpu_set_t all;
  CPU_ZERO(&all);
  (void)::sched_getaffinity(0, sizeof all, &all);
  lock_.lock();
  while (!progress_stop_) {
    if (inside_ == 0) keep_off(program_cpu_, all);
    const bool wanted = inside_ == 0 && !closed_ && is_under_way();
    if (wanted && progress()) {
      lock_.give_way();
      continue;
    }
    if (wanted && !polling_)
      progress_listen();
    else
      progress_park();
  }
  lock_.unlock();
}

void Loop::progress_listen() noexcept {
  progress_where_ = net_ ? path::Doorbell::kOnSocket : path::Doorbell::kOnFutex;
  std::uint32_t seen = 0;
  if (!prepare_to_block(seen)) return;
  progress_state_ = ThreadState::listening;
  rest(seen, {}, kProgressSleep);
  progress_state_ = ThreadState::awake;
  after_wake();
}

void Loop::progress_park() noexcept {
  const std::uint32_t seen = progress_bell_.before_sleep();
  progress_state_ = ThreadState::parked;
  const std::uint32_t depth = lock_.give_up();
  progress_bell_.sleep(seen, kParked.ns);
  lock_.take_back(depth);
  progress_state_ = ThreadState::awake;
}

}  // namespace herald::engine
