// SPDX-License-Identifier: BSD-3-Clause
// engine/assist.cpp: the assistant: a thread of ours that takes turns while the program computes, so that
// pulls, long messages and nonblocking collectives go on (paper 002, parallelism of the processors).
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

constexpr Duration kAssistSleep = milliseconds(100);  // a safety net, as for everybody who sleeps
constexpr Duration kParked = milliseconds(60'000);

// By the assistant: not where the program computes, if there is any other place.
void keep_off(int cpu, const cpu_set_t& all) noexcept {
  if (cpu < 0 || ::sched_getcpu() != cpu) return;
  cpu_set_t others = all;
  CPU_CLR(static_cast<std::size_t>(cpu), &others);
  if (CPU_COUNT(&others) != 0) (void)::sched_setaffinity(0, sizeof others, &others);
}

}  // namespace

bool Loop::start_assistant() noexcept {
  const bool first = !lock_.active();
  if (first) lock_.activate();  // else others look at it
  lock();                       // the thread says what it does as soon as it has it
  bell_->be_careful();
  assist_stop_ = false;
  assist_ = Assist::awake;
  if (!assistant_.start([](void* self) { static_cast<Loop*>(self)->assist(); }, this, Duration{}))
    assist_ = Assist::none;
  if (!first) unlock();
  return first;
}

void Loop::stop_assistant() noexcept {
  if (assist_ == Assist::none || assist_ == Assist::wanted) return;
  assist_stop_ = true;
  wake_assistant();
  const std::uint32_t depth = lock_.give_up();  // the thread needs it to see that it is to end
  assistant_.stop();
  lock_.take_back(depth);
  assist_ = Assist::none;
}

bool Loop::is_under_way() const noexcept {
  return core_.sends_under_way() != 0 || core_.receives_under_way() != 0 || !hooks_.empty();
}

void Loop::wake_assistant() noexcept {
  switch (assist_) {
    case Assist::none:
    case Assist::wanted:
    case Assist::awake: return;
    case Assist::parked:
      assist_bell_.sleeping.store(path::Doorbell::kOnFutex, std::memory_order_relaxed);
      return assist_bell_.ring();
    case Assist::listening:
      bell_->sleeping.store(assist_where_, std::memory_order_seq_cst);
      return bell_->ring();
  }
}

void Loop::come_in() noexcept {
  ++inside_;
  if (assist_ == Assist::listening && sleepers_ == 0) bell_->awake();
}

// Puts the flag up, then looks once more: who has news does it the other way round.
void Loop::go_out() noexcept {
  if (--inside_ != 0 || closed_ || assist_ == Assist::none || assist_ == Assist::wanted) return;
  program_cpu_ = ::sched_getcpu();
  if ((assist_ != Assist::parked && assist_ != Assist::listening) || !is_under_way()) return;
  if (assist_ == Assist::parked || core_.wants_to_send() || core_.has_direct()) return wake_assistant();
  bell_->sleeping.store(assist_where_, std::memory_order_seq_cst);
  if (has_news()) bell_->ring();
}

// The thread. It holds the lock but while it sleeps.
void Loop::assist() noexcept {
  cpu_set_t all;
  CPU_ZERO(&all);
  (void)::sched_getaffinity(0, sizeof all, &all);
  lock_.lock();
  while (!assist_stop_) {
    if (inside_ == 0) keep_off(program_cpu_, all);
    const bool wanted = inside_ == 0 && !closed_ && is_under_way();
    if (wanted && progress()) {
      lock_.give_way();
      continue;
    }
    if (wanted && !polling_)
      assist_listen();
    else
      assist_park();
  }
  lock_.unlock();
}

void Loop::assist_listen() noexcept {
  assist_where_ = net_ ? path::Doorbell::kOnSocket : path::Doorbell::kOnFutex;
  std::uint32_t seen = 0;
  if (!lie_down(seen)) return;
  assist_ = Assist::listening;
  rest(seen, {}, kAssistSleep);
  assist_ = Assist::awake;
  get_up();
}

void Loop::assist_park() noexcept {
  const std::uint32_t seen = assist_bell_.before_sleep();
  assist_ = Assist::parked;
  const std::uint32_t depth = lock_.give_up();
  assist_bell_.sleep(seen, kParked.ns);
  lock_.take_back(depth);
  assist_ = Assist::awake;
}

}  // namespace herald::engine
