// SPDX-License-Identifier: BSD-3-Clause
// tools/bench.cpp: `herald bench`: runs the installed benchmark (bench/run.py) with this installation.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "commands.hpp"

namespace herald::tools {
namespace {

[[noreturn]] void fail(const std::string& why) {
  fmt::print(stderr, "herald bench: {}\n", why);
  throw CLI::RuntimeError(2);
}

void run(const std::vector<std::string>& more) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path prefix = fs::read_symlink("/proc/self/exe", error).parent_path().parent_path();
  const fs::path script = prefix / "share/herald/bench/run.py";
  if (!fs::exists(script, error)) fail(script.string() + " is missing: this installation has no benchmarks");
  std::vector<std::string> words{"python3",       "-B",    script.string(), "--herald",
                                 prefix.string(), "--out", "herald-bench"};
  words.insert(words.end(), more.begin(), more.end());
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  fail(fmt::format("python3 cannot be started: {}", std::strerror(errno)));
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
