// SPDX-License-Identifier: BSD-3-Clause
// engine/processors.hpp: the processors that this process may use and the ranks that compete for them. They
// decide how long a waiting call spins, and whether a progress thread has a core to run on.
#pragma once
#include <cstdint>
#include <span>
#include <string>

#include "base/instant.hpp"
#include "path/shm/segment.hpp"

namespace herald::engine {

constexpr Duration kSpinAlone = milliseconds(1);  // every rank has a processor: spinning takes nobody's

struct SpinPlan {
  Duration spin{};      // zero: yield a number of times, then block
  bool forced = false;  // the user has set it
};

// The limit of the control group, and the ranks that share it: those of this host.
struct Quota {
  double cpus = 0;  // 0: no limit
  std::size_t ranks = 1;
};

// `masks`: where each rank of this machine may run, empty for others; `me`: our place in it. `knob_us`: -1 to
// choose.
SpinPlan choose_spin(std::span<const path::CpuMask> masks, std::size_t me, const Quota& quota,
                     std::int64_t knob_us) noexcept;

// Whether each rank may have two processors, so that one is free for a thread of ours.
bool has_free_core(std::span<const path::CpuMask> masks, std::size_t me, const Quota& quota) noexcept;

std::size_t count_cpus(const path::CpuMask& mask) noexcept;
path::CpuMask read_affinity() noexcept;
// Processors granted by the control group, from the text of cpu.max ("max 100000", "150000 100000"); 0: no
// limit.
double parse_cpu_max(const std::string& text) noexcept;
double read_cpu_quota();

// Memory of this machine, or what its control group grants.
std::uint64_t read_memory_bytes() noexcept;

// How often the kernel took the processor from the calling thread while it wanted to go on.
std::int64_t involuntary_switches() noexcept;

// Between two reads of memory that another processor will change.
inline void relax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace herald::engine
