// SPDX-License-Identifier: BSD-3-Clause
// engine/wait_policy.hpp: how a waiting call passes its time: it spins, yields the processor, or blocks.
// In:  the time, what the loop sees, how a block or a yield ended. Out: the next step; the loop obeys it.
// Pure: no clock, no system call. The count of involuntary context switches is handed in as a function.
//
//   own processor:    spin until `spin` is over ----------------> block
//   shared processor: yield a few times ------------------------> block
//   after a block without news: block again, until something moves
//
// Spinning stops for a while, longer each time, when it costs another process its processor: the kernel
// preempts this thread again and again, or a block right after a spin brings news at once.
#pragma once
#include <cstdint>

#include "base/instant.hpp"

namespace herald::engine {

struct WaitConfig {
  Duration spin{};      // zero: ranks outnumber processors
  bool forced = false;  // the user has set the time: preemption does not shorten it
  std::int64_t (*involuntary_switches)() noexcept = nullptr;  // of the calling thread, so far
};

struct WaitFacts {
  bool polls_sockets = false;  // a turn makes system calls
  bool only_remote = false;    // no other rank shares this host's memory
  bool in_collective = false;  // a collective waits for ranks of this host
  bool may_spin = true;        // no other thread of this process waits
};

enum class WaitAction : std::uint8_t { spin, yield, block };

struct WaitStep {
  WaitAction action = WaitAction::block;
  int turns = 0;  // spin: turns of the loop before the next question
};

// Time that other processes took from a spinning thread.
class PreemptionMeter {
 public:
  // Another preemption, of this length, has just ended. True, once: the recent ones took more than a
  // sixteenth of the time and more than a kernel thread takes at once.
  bool add(Instant now, Duration lost) noexcept;

 private:
  Duration lost_{};
  Instant last_{};
};

class WaitPolicy {
 public:
  WaitPolicy() noexcept = default;
  explicit WaitPolicy(const WaitConfig& config) noexcept
      : config_(config),
        switches_(config.involuntary_switches != nullptr ? config.involuntary_switches() : 0) {}

  bool has_processor() const noexcept { return config_.spin.ns != 0; }
  // Yields give the processor to processes that keep it for a whole time slice: blocking is better.
  bool yields_are_long() const noexcept { return yields_are_long_; }

  // A call found nothing to do; next() says how it goes on, again and again, until something moves.
  void begin(Instant now) noexcept;
  WaitStep next(Instant now, const WaitFacts& facts) noexcept;
  void on_yielded(Instant before, Instant after) noexcept;
  void on_blocked(Instant before, Instant after, bool moved) noexcept;
  // Something moved without a block.
  void on_progress() noexcept { blocked_in_vain_ = false; }

 private:
  bool may_spin(Instant now, const WaitFacts& facts) noexcept;
  bool was_preempted(Instant now) noexcept;
  void stop_spinning(Instant now, Duration least) noexcept;
  int yields_for(const WaitFacts& facts) const noexcept;

  // An interval that grows while the same trouble returns and is forgotten after a quiet time.
  struct BackOff {
    Duration length{};
    Instant until{};
    void grow(Instant now, int factor, Duration least, Duration most) noexcept;
  };

  WaitConfig config_{};
  PreemptionMeter preemptions_;
  BackOff no_spin_, few_yields_;
  Instant spin_end_{};
  Instant last_{};             // the last time that next() was asked
  std::int64_t switches_ = 0;  // involuntary ones, when they were last read
  int yields_left_ = -1;       // -1: this wait has not yielded yet
  bool spun_ = false;          // this wait has
  bool yields_are_long_ = false;
  bool blocked_in_vain_ = false;  // the last block ended without news
};

}  // namespace herald::engine
