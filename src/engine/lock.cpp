// SPDX-License-Identifier: BSD-3-Clause
#include "engine/lock.hpp"

#include <sched.h>

namespace herald::engine {

void Lock::enter_slow() noexcept {
  waiting_.fetch_add(1, std::memory_order_relaxed);
  while (state_.exchange(kAwaited, std::memory_order_acquire) != kFree)
    state_.wait(kAwaited, std::memory_order_relaxed);
  waiting_.fetch_sub(1, std::memory_order_relaxed);
}

// A thread that spins would take the lock again right after it leaves it, time after time. So it waits here
// until another thread got in, for a bounded number of yields: that thread may not be scheduled.
void Lock::give_way() noexcept {
  if (!active_ || !others_want_it()) return;
  constexpr int kYields = 64;
  const std::uint32_t turn = turns_.load(std::memory_order_relaxed);
  const std::uint32_t depth = give_up();
  for (int i = 0; i < kYields && others_want_it() && turns_.load(std::memory_order_relaxed) == turn; ++i)
    sched_yield();
  take_back(depth);
}

}  // namespace herald::engine
