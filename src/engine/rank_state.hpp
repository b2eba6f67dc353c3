// SPDX-License-Identifier: BSD-3-Clause
// engine/rank_state.hpp: shows tools of this host which calls wait (base/rank_page.hpp).
// In:  LongWait: a call whose thread has blocked, and how to describe it. With the lock.
// Out: the page; after kFinalizeWarning one line for a rank that waits in MPI_Finalize.
#pragma once
#include <string>

#include "base/instant.hpp"
#include "base/rank_page.hpp"
#include "path/rank_memory.hpp"

namespace herald::engine {

class Engine;

class RankState {
 public:
  explicit RankState(Engine& engine) noexcept : engine_(engine) {}
  RankState(const RankState&) = delete;
  RankState& operator=(const RankState&) = delete;

  void open(int rank, int size, const std::string& job, const std::string& host) noexcept;
  void set_phase(RankPhase phase) noexcept;
  // Fills in the call of this thread, its communicator and unexpected messages; the site of the wait then
  // adds operations.
  using DescribeCall = void (*)(ShownWait&);
  void when_described(DescribeCall describe) noexcept { describe_call_ = describe; }
  // Writes the timeline of this process; the job goes on.
  using WriteTimeline = void (*)();
  void when_timeline_wanted(WriteTimeline write) noexcept { write_timeline_ = write; }

  // A slot of the page for a call that waits since then; -1: none is free.
  int take() noexcept;
  void begin(ShownWait& wait, Instant since) noexcept;
  void show(int slot, const ShownWait& wait) noexcept;  // and the counters
  void clear(int slot) noexcept;
  // A reader wants new counters. Every turn looks.
  bool is_wanted() const noexcept { return wanted_->load(std::memory_order_relaxed) != served_; }
  void write_counters() noexcept;

 private:
  void warn_of_finalize(const ShownWait& wait) noexcept;

  Engine& engine_;
  path::RankMemory memory_;
  RankPage* page_ = nullptr;
  const std::atomic<std::uint32_t> never_wanted_{0};
  const std::atomic<std::uint32_t>* wanted_ = &never_wanted_;  // in the page, if there is one
  std::uint32_t served_ = 0, timelines_ = 0;
  WriteTimeline write_timeline_ = nullptr;
  DescribeCall describe_call_ = nullptr;
  bool used_[RankPage::kWaits] = {};
  bool warned_ = false;
};

// One wait of a blocking call. Nothing happens before its thread has blocked for kShowAfter.
class LongWait {
 public:
  explicit LongWait(RankState& state) noexcept : state_(state) {}
  LongWait(const LongWait&) = delete;
  LongWait& operator=(const LongWait&) = delete;
  ~LongWait() {
    if (slot_ >= 0) [[unlikely]]
      state_.clear(slot_);
  }

  // The thread has blocked and looks again. `describe(ShownWait&)` adds the operations.
  template <class Describe>
  void on_blocked(Instant now, Describe describe) noexcept {
    if (since_.ns == 0) since_ = now;
    if (now < next_ || now - since_ < kShowAfter) return;
    next_ = now + kShowEvery;
    if (slot_ < 0) slot_ = state_.take();
    if (slot_ < 0) return;
    ShownWait wait;
    state_.begin(wait, since_);
    describe(wait);
    state_.show(slot_, wait);
  }

 private:
  static constexpr Duration kShowAfter = milliseconds(20), kShowEvery = milliseconds(50);
  RankState& state_;
  Instant since_{}, next_{};
  int slot_ = -1;
};

// For descriptions.
void add_op(ShownWait& wait, const WaitedOp& op) noexcept;
void add_unexpected(ShownWait& wait, std::int32_t peer) noexcept;

}  // namespace herald::engine
