// SPDX-License-Identifier: BSD-3-Clause
// tools/cast.cpp: `herald cast`: copies a file or a folder to other hosts. Under a launcher it executes
// herald-cast (tools/cast/); otherwise it starts that with mpiexec on this host and the named ones.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>

#include "commands.hpp"
#include "start.hpp"

namespace herald::tools {
namespace {

struct CastOptions {
  std::string source;
  std::vector<std::string> targets;
  bool quiet = false, verify = false, show = false;
};

std::vector<std::string> command_of(const CastOptions& options) {
  namespace fs = std::filesystem;
  std::error_code error;
  const std::string program = (own_prefix() / "libexec/herald/herald-cast").string();
  std::vector<std::string> words, paths;
  if (under_launcher()) {
    words = {program};
    paths = options.targets;
  } else {
    char name[256] = {};
    ::gethostname(name, sizeof name - 1);
    std::string hosts = name;
    for (const std::string& target : options.targets) {
      const std::size_t colon = target.find(':');
      if (colon == 0 || colon == std::string::npos || colon + 1 == target.size())
        fail("cast",
             fmt::format(
                 "\"{}\" is not host:path, as in node7:/scratch/data (under a launcher, give paths only)",
                 target));
      hosts += "," + target.substr(0, colon);
      paths.push_back(target.substr(colon + 1));
    }
    words = {(own_prefix() / "bin/mpiexec").string(), "-n", std::to_string(paths.size() + 1), "--host",
             hosts};
    if (options.quiet) words.emplace_back("--quiet");
    words.push_back(program);
    if (::isatty(STDERR_FILENO) != 0) words.emplace_back("--bar");
  }
  if (options.quiet) words.emplace_back("--quiet");
  if (options.verify) words.emplace_back("--verify");
  words.push_back(under_launcher() ? options.source : fs::absolute(options.source, error).string());
  words.insert(words.end(), paths.begin(), paths.end());
  return words;
}

void run(const CastOptions& options) {
  const std::vector<std::string> words = command_of(options);
  if (options.show) {
    fmt::print("{}\n", fmt::join(words, " "));
    return;
  }
  become("cast", words);
}

}  // namespace

void add_cast(CLI::App& program) {
  CLI::App* const cast = program.add_subcommand("cast", "copy a file or a folder to many hosts at once");
  auto options = std::make_shared<CastOptions>();
  cast->add_option("source", options->source, "file or folder on this host")->required();
  cast->add_option("target", options->targets, "host:path ...; under a launcher: paths")->required();
  cast->add_flag("-q,--quiet", options->quiet, "print errors only");
  cast->add_flag("--verify", options->verify, "read back what was written");
  cast->add_flag("--show", options->show, "print the mpiexec command without running it");
  cast->callback([options] { run(*options); });
}

}  // namespace herald::tools
