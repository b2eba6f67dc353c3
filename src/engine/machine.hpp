// SPDX-License-Identifier: BSD-3-Clause
// engine/machine.hpp: ranks that share no memory may still share processors: in containers of one machine, or
// on hosts of a lab. Each rank publishes its machine and its processors, so that they know of each other.
#pragma once
#include <cstdint>
#include <string>

#include "path/shm/segment.hpp"

namespace herald::engine {

struct Machine {
  std::uint64_t boot = 0;  // of the running kernel, drawn when it started; 0: not known
  std::int64_t started_ns =
      0;                 // when it started, by the clock of the day: copies of a virtual machine differ
  path::CpuMask cpus{};  // where the process may run
};

Machine read_own_machine() noexcept;
// One line, without its end.
std::string write_machine(const Machine& machine);
bool read_machine(const std::string& line, Machine& machine) noexcept;
bool is_same_machine(const Machine& a, const Machine& b) noexcept;

}  // namespace herald::engine
