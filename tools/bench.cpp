// SPDX-License-Identifier: BSD-3-Clause
// tools/bench.cpp: `herald bench`: runs the installed benchmark (bench/run.py) with this installation.
#include <fmt/format.h>

#include <filesystem>

#include "commands.hpp"
#include "start.hpp"

namespace herald::tools {
namespace {

void run(const std::vector<std::string>& more) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path prefix = own_prefix();
  const fs::path script = prefix / "share/herald/bench/run.py";
  if (!fs::exists(script, error))
    fail("bench", script.string() + " is missing: this installation has no benchmarks");
  std::vector<std::string> words{"python3",       "-B",    script.string(), "--herald",
                                 prefix.string(), "--out", "herald-bench"};
  words.insert(words.end(), more.begin(), more.end());
  become("bench", words);
}

}  // namespace

void add_bench(CLI::App& program) {
  CLI::App* const bench = program.add_subcommand(
      "bench", "measure this installation beside other MPI libraries; options follow --");
  auto more = std::make_shared<std::vector<std::string>>();
  bench->add_option("options", *more, "of the benchmark: herald bench -- --help lists them");
  bench->callback([more] { run(*more); });
}

}  // namespace herald::tools
