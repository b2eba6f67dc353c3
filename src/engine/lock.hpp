// SPDX-License-Identifier: BSD-3-Clause
// engine/lock.hpp: the one lock around the engine. Recursive; does nothing unless it was made active.
// give_up() and take_back() let a waiting call leave it, however deep it is in.
#pragma once
#include <atomic>
#include <cstdint>

namespace herald::engine {

class Lock {
 public:
  explicit Lock(bool active) noexcept : active_(active) {}

  void lock() noexcept {
    if (active_) lock_slow();
  }
  void unlock() noexcept {
    if (active_ && --depth_ == 0) leave();
  }
  bool active() const noexcept { return active_; }
  bool is_outermost() const noexcept { return active_ && depth_ == 1; }  // asked by its owner
  void activate() noexcept { active_ = true; }                           // before another thread knows it
  bool others_want_it() const noexcept { return waiting_.load(std::memory_order_relaxed) != 0; }

  // The caller holds the lock; returns how deep, for take_back().
  std::uint32_t give_up() noexcept {
    if (!active_) return 0;
    const std::uint32_t depth = depth_;
    depth_ = 0;
    leave();
    return depth;
  }
  void take_back(std::uint32_t depth) noexcept {
    if (!active_) return;
    enter();
    depth_ = depth;
  }
  // Lets a thread that waits for the lock have it for a while.
  void give_way() noexcept;

 private:
  // An address that no other live thread has.
  static const void* self() noexcept { return &here_; }
  void lock_slow() noexcept {
    if (owner_.load(std::memory_order_relaxed) != self()) enter();
    ++depth_;
  }
  void enter() noexcept {
    int free = kFree;
    if (!state_.compare_exchange_strong(free, kHeld, std::memory_order_acquire)) enter_slow();
    owner_.store(self(), std::memory_order_relaxed);
    turns_.store(turns_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  void leave() noexcept {
    owner_.store(nullptr, std::memory_order_relaxed);
    if (state_.exchange(kFree, std::memory_order_release) == kAwaited) state_.notify_one();
  }

  void enter_slow() noexcept;

  enum State : int { kFree, kHeld, kAwaited };  // awaited: held, and somebody sleeps until it is free
  [[gnu::tls_model("initial-exec")]] static inline thread_local char here_;  // no call to find it

  bool active_;
  std::atomic<int> state_{kFree};
  std::atomic<const void*> owner_{nullptr};
  std::atomic<std::uint32_t> waiting_{0};
  std::atomic<std::uint32_t> turns_{0};  // how often it was entered; changed by its owner
  std::uint32_t depth_ = 0;              // of its owner
};

}  // namespace herald::engine
