// SPDX-License-Identifier: BSD-3-Clause
// tools/start.hpp: subcommands that are programs of their own: where they are, and how `herald` becomes one.
#pragma once
#include <filesystem>
#include <string>
#include <vector>

namespace herald::tools {

// The folder of the installation that this program belongs to.
std::filesystem::path own_prefix();

// This process is a rank already: a launcher started it.
bool under_launcher();

// Becomes the program, found in PATH unless it has a path. `command`: for the message if that fails.
[[noreturn]] void become(const std::string& command, const std::vector<std::string>& words);

}  // namespace herald::tools
