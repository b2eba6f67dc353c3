// SPDX-License-Identifier: BSD-3-Clause
// engine/call_lock.hpp: the engine's lock, as calls of the program take it. The progress thread learns when
// the program enters and leaves the library.
#pragma once
#include "engine/lock.hpp"
#include "engine/progress_thread.hpp"

namespace herald::engine {

class CallLock {
 public:
  CallLock(Lock& lock, ProgressThread& thread) noexcept : lock_(lock), thread_(thread) {}
  CallLock(const CallLock&) = delete;
  CallLock& operator=(const CallLock&) = delete;

  void enter() noexcept {
    lock_.lock();
    if (lock_.is_outermost()) thread_.on_enter();
  }
  void leave() noexcept {
    if (lock_.is_outermost()) thread_.on_leave();
    lock_.unlock();
  }
  // Releases the lock however deep the caller holds it, to wait for something other than peers; and takes it
  // again.
  std::uint32_t give_up() noexcept { return lock_.give_up(); }
  void take_back(std::uint32_t depth) noexcept { lock_.take_back(depth); }
  // False: the lock costs nothing, because one thread calls.
  bool is_active() const noexcept { return lock_.active(); }

 private:
  Lock& lock_;
  ProgressThread& thread_;
};

}  // namespace herald::engine
