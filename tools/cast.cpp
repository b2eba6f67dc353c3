// SPDX-License-Identifier: BSD-3-Clause
// tools/cast.cpp: `herald cast`: copies a file or a folder to other hosts. Under a launcher it executes
// herald-cast (tools/cast/); otherwise it starts that with mpiexec on this host and the named ones.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "commands.hpp"

namespace herald::tools {
namespace {

struct Options {
  std::string source;
  std::vector<std::string> targets;
  bool quiet = false, verify = false, show = false;
};

[[noreturn]] void fail(const std::string& why) {
  fmt::print(stderr, "herald cast: {}\n", why);
  throw CLI::RuntimeError(2);
}

bool under_launcher() {
  for (const char* name : {"PMIX_NAMESPACE", "PMI_RANK", "PMI_FD"})
    if (std::getenv(name) != nullptr) return true;
  return false;
}

std::vector<std::string> command_of(const Options& options) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path bin = fs::read_symlink("/proc/self/exe", error).parent_path();
  const std::string program = (bin / "../libexec/herald/herald-cast").lexically_normal().string();
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
        fail(fmt::format(
            "\"{}\" is not host:path, as in node7:/scratch/data (under a launcher, give paths only)",
            target));
      hosts += "," + target.substr(0, colon);
      paths.push_back(target.substr(colon + 1));
    }
    words = {(bin / "mpiexec").string(), "-n", std::to_string(paths.size() + 1), "--host", hosts};
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

void run(const Options& options) {
  const std::vector<std::string> words = command_of(options);
  if (options.show) {
    fmt::print("{}\n", fmt::join(words, " "));
    return;
  }
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  ::execv(arguments[0], arguments.data());
  fail(fmt::format("{} cannot be started: {}", words[0], std::strerror(errno)));
}

}  // namespace

void add_cast(CLI::App& program) {
  CLI::App* const cast = program.add_subcommand("cast", "copy a file or a folder to many hosts at once");
  auto options = std::make_shared<Options>();
  cast->add_option("source", options->source, "file or folder on this host")->required();
  cast->add_option("target", options->targets, "host:path ...; under a launcher: paths")->required();
  cast->add_flag("-q,--quiet", options->quiet, "print errors only");
  cast->add_flag("--verify", options->verify, "read back what was written");
  cast->add_flag("--show", options->show, "print the mpiexec command without running it");
  cast->callback([options] { run(*options); });
}

}  // namespace herald::tools
