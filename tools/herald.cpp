// SPDX-License-Identifier: BSD-3-Clause
// tools/herald.cpp: the `herald` command: a table of subcommands.
#include <CLI/CLI.hpp>
#include <iostream>
#include <string>

#include "build_facts.hpp"
#include "commands.hpp"

namespace {

constexpr int kUsageCode = 2;  // as of mpiexec

// A new subcommand is a file and a row here.
constexpr herald::tools::AddCommand kCommands[] = {
    herald::tools::add_bench,   herald::tools::add_cast,         herald::tools::add_doctor,
    herald::tools::add_info,    herald::tools::add_model_memory, herald::tools::add_model,
    herald::tools::add_explain, herald::tools::add_names,        herald::tools::add_plans,
    herald::tools::add_ps,      herald::tools::add_top,          herald::tools::add_trace,
};

}  // namespace

int main(int argc, char** argv) {
  CLI::App program{"herald: tools of Herald MPI", "herald"};
  program.set_version_flag("--version", std::string("herald ") + herald::tools::kVersion);
  program.require_subcommand(0, 1);
  for (const auto add : kCommands) add(program);
  try {
    program.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    const int code = program.exit(error);
    return code < static_cast<int>(CLI::ExitCodes::IncorrectConstruction) ? code : kUsageCode;
  }
  if (!program.get_subcommands().empty()) return 0;
  std::cerr << program.help();
  return kUsageCode;
}
