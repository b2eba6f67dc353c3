// SPDX-License-Identifier: BSD-3-Clause
// tools/commands.hpp: the subcommands of `herald`. Each adds itself, its options and its help to the program,
// and runs from CLI11's callback; a failure after parsing is CLI::RuntimeError with the exit code.
#pragma once
#include <CLI/CLI.hpp>
#include <string>

#include "base/knobs.hpp"

namespace herald::tools {

using AddCommand = void (*)(CLI::App& program);

void add_bench(CLI::App& program);
void add_cast(CLI::App& program);
void add_doctor(CLI::App& program);
void add_explain(CLI::App& program);
void add_info(CLI::App& program);
void add_model(CLI::App& program);
void add_model_memory(CLI::App& program);
void add_model_replay(CLI::App& model);
void add_names(CLI::App& program);
void add_plans(CLI::App& program);
void add_ps(CLI::App& program);
void add_top(CLI::App& program);
void add_trace(CLI::App& program);

// Prints "herald COMMAND: why"; the exit code becomes 2.
[[noreturn]] void fail(const std::string& command, const std::string& why);
// The exit code of commands about a job that does not run on this host.
constexpr int kNotFound = 1;

// The environment variable of a knob.
std::string variable_of(const KnobRow& row);

// The manual page herald-knobs(7), as roff, from the table of knobs.
std::string knobs_manual();

}  // namespace herald::tools
