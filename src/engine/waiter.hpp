// SPDX-License-Identifier: BSD-3-Clause
// engine/waiter.hpp: what a waiting call does: it obeys the wait policy, and blocks on the doorbell of this
// process or, with peers on other hosts, on the sockets and the doorbell together.
// With sockets one thread blocks on them for all; others block on an inner doorbell that it rings.
#pragma once
#include <cstdint>

#include "engine/time_slice.hpp"
#include "engine/wait_policy.hpp"
#include "path/inbox.hpp"

namespace herald::engine {

class Lock;
class Engine;
class Net;

class Waiter {
 public:
  Waiter(Engine& engine, Lock& lock) noexcept : engine_(engine), lock_(lock) {}
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  // `net` may be null: all peers are on this host.
  void open(path::Doorbell& doorbell, const WaitConfig& config, bool only_remote) noexcept;
  void open_sockets(Net& net) noexcept;
  void shorten_time_slice() noexcept { time_slice_.shorten(); }
  // The doorbell goes: from now on this one rings.
  void set_doorbell(path::Doorbell& doorbell) noexcept { doorbell_ = &doorbell; }

  // A peer that shares this host's memory has come.
  void on_local_peer() noexcept { only_remote_ = false; }

  const WaitPolicy& policy() const noexcept { return policy_; }
  // With the lock: a turn, and when nothing moves, the next steps of the policy up to one block. Returns
  // the end of that block; 0 ns: it has not blocked.
  Instant wait_turn() noexcept;
  // Yields the processor once, with the lock released meanwhile. False, and nothing done, where sleeping is
  // better.
  bool yield() noexcept;
  // Between the two, blocks are short: a caller polls a descriptor that does not wake it.
  void begin_polling() noexcept { ++pollers_; }
  void end_polling() noexcept { --pollers_; }
  // Threads of this process that block get to look again.
  void wake() noexcept {
    if (blocked_ != 0) doorbell_->ring();
  }
  bool some_blocked() const noexcept { return blocked_ != 0; }
  bool is_polling() const noexcept { return polling_; }

  // For the progress thread, which blocks on the same doorbell while the program computes.
  // prepare(): announces the block and looks once more; false: there was something to do. `seen` goes to
  // block().
  bool prepare(std::uint32_t& seen) noexcept;
  void block(std::uint32_t seen, Duration longest) noexcept;
  void after_block() noexcept;
  // How peers are to wake a thread that blocks.
  std::uint32_t where() const noexcept;
  path::Doorbell& doorbell() noexcept { return *doorbell_; }

 private:
  enum class Stepped : std::uint8_t { nothing, moved, blocked };
  Stepped step(std::uint64_t before) noexcept;
  bool spin(std::uint64_t before, int turns) noexcept;
  void block() noexcept;
  void block_inside() noexcept;
  void give_processor() noexcept;
  Duration longest_block() const noexcept;

  Engine& engine_;
  Lock& lock_;
  Net* net_ = nullptr;
  WaitPolicy policy_;
  TimeSlice time_slice_;
  bool only_remote_ = false;
  path::Doorbell* doorbell_ = nullptr;
  path::BellEvent bell_event_;          // for a doorbell that no other process rings
  path::LocalDoorbell inner_doorbell_;  // for threads beside the one that blocks on sockets
  bool polling_ = false;                // a thread blocks on the sockets
  int blocked_ = 0;                     // threads of the program
  int waiting_ = 0;                     // threads in wait_turn()
  int pollers_ = 0;                     // threads between begin_polling() and end_polling()
  Instant block_end_{};
};

}  // namespace herald::engine
