// SPDX-License-Identifier: BSD-3-Clause
// engine/spin.hpp: how long a waiting call spins before it sleeps, chosen from the processors that this
// process may use and the ranks that compete for them.
#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "base/instant.hpp"
#include "path/shm/segment.hpp"

namespace herald::engine {

constexpr std::int64_t kSpinAloneUs = 1000;  // every rank has a processor: spinning takes nobody's
// Ranks outnumber processors: let the others run so often, then sleep. Who waits for a message may wait for
// many others to get their turn before; each that yields meanwhile makes it later.
constexpr int kYieldsForMessage = 4;
// In a collective inside a host all ranks wait for each other: each gets its turn without a system call to
// wake it; one that waits for long has used some 50 microseconds.
constexpr int kYieldsForAll = 64;
// The same where all others are on other hosts: a turn asks the sockets then, and what comes wakes us anyway.
// So many take as long as an answer from a host near by.
constexpr int kYieldsAlone = 40, kYieldsToCollect = 32;
constexpr int kYieldsBusy = 2;  // and so often while others, who do not yield, use the processors

struct SpinPlan {
  std::int64_t spin_us = 0;  // 0: yield a number of times, then sleep
  bool forced = false;       // also where others want the processor: somebody has said so
};

// Time in which others had our processor while we spun.
class PreemptionMeter {
 public:
  // Another theft, of so long, has just ended. True: all of late is more than a sixteenth of the time, by
  // more than a kernel thread takes at once. It is then forgotten.
  bool add(Instant now, Duration stolen) noexcept;

 private:
  static constexpr std::int64_t kFair = 16;
  static constexpr Duration kMuch = microseconds(150);
  Duration taken_{};
  Instant last_{};
};

// What the control group grants, and to how many.
struct Quota {
  double cpus = 0;        // 0: there is no limit
  std::size_t ranks = 1;  // that share it: those of this host
};

// `masks`: where each rank of this machine may run, nothing for others; `me` the place of ours in it.
// `knob_us`: -1 to choose.
SpinPlan choose_spin(std::span<const path::CpuMask> masks, std::size_t me, const Quota& quota,
                     std::int64_t knob_us) noexcept;

// Whether each rank may have two processors, so that one is free for a thread of ours.
bool has_free_core(std::span<const path::CpuMask> masks, std::size_t me, const Quota& quota) noexcept;

std::size_t count_cpus(const path::CpuMask& mask) noexcept;
path::CpuMask read_affinity() noexcept;
// Processors that the control group grants, from the text of cpu.max ("max 100000", "150000 100000"); 0: no
// limit.
double parse_cpu_max(const std::string& text) noexcept;
double read_cpu_quota();

// How long others let the calling thread run before they have their turn, where they compete for a processor
// (and threads that it starts later). A woken thread goes before one that runs if its slice is the shorter
// one (Linux 6.12 and later; before, this changes nothing). 0: leaves it alone. Gives what it was, in ns; 0:
// not changed, because it is shorter already, or the thread has another way of scheduling.
std::int64_t shorten_slice(std::int64_t ns) noexcept;
void restore_slice(std::int64_t ns) noexcept;  // 0: nothing to do

// How often another thread was given the processor of the calling one, which wanted to go on.
std::int64_t involuntary_switches() noexcept;

// Between two looks at memory that another processor will change.
inline void relax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace herald::engine
