// SPDX-License-Identifier: BSD-3-Clause
// launch/debugger.hpp: ranks under gdb (--gdb), and stacks of running ranks (--stack-traces).
#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

#include "environment.hpp"
#include "plan.hpp"

namespace herald::launch {

// "0,2-3" or "all"; throws UsageError, also for ranks that do not exist.
std::vector<int> parse_ranks(const std::string& text, const std::string& option, int size);

// Puts these ranks under gdb: a single one in the terminal of mpiexec, several in a window each. Throws
// UsageError if there is no gdb, no xterm or no display.
void put_under_gdb(JobPlan& plan, const std::vector<int>& ranks, const Environment& env);

// Makes the process group of this rank the terminal's; mpiexec takes the terminal back at its end.
void lend_terminal(pid_t group);
struct TerminalOwner {
  TerminalOwner() = default;
  TerminalOwner(const TerminalOwner&) = delete;
  TerminalOwner& operator=(const TerminalOwner&) = delete;
  ~TerminalOwner();
};

// The stacks of all threads of a process, by gdb, eu-stack or gstack; empty: none of them is there, is
// allowed to look, or answers in time.
std::vector<std::string> stacks_of(pid_t pid, int milliseconds);

}  // namespace herald::launch
