// SPDX-License-Identifier: BSD-3-Clause
// tools/cast.cpp: `herald cast`: copies a file or a folder to other hosts. Under a launcher it becomes
// herald-cast (tools/cast/); otherwise it starts that on this host and the named ones with mpiexec.
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "commands.hpp"

namespace herald::tools {
namespace {

struct Asked {
  std::string source;
  std::vector<std::string> targets;
  bool quiet = false, verify = false, show = false;
};

[[noreturn]] void give_up(const std::string& why) {
  fmt::print(stderr, "herald cast: {}\n", why);
  throw CLI::RuntimeError(2);
}

bool under_launcher() {
  for (const char* name : {"PMIX_NAMESPACE", "PMI_RANK", "PMI_FD"})
    if (std::getenv(name) != nullptr) return true;
  return false;
}

std::vector<std::string> command_of(const Asked& asked) {
  namespace fs = std::filesystem;
  std::error_code error;
  const fs::path bin = fs::read_symlink("/proc/self/exe", error).parent_path();
  const std::string program = (bin / "../libexec/herald/herald-cast").lexically_normal().string();
  std::vector<std::string> words, paths;
  if (under_launcher()) {
    words = {program};
    paths = asked.targets;
  } else {
    char name[256] = {};
    ::gethostname(name, sizeof name - 1);
    std::string hosts = name;
    for (const std::string& target : asked.targets) {
      const std::size_t colon = target.find(':');
      if (colon == 0 || colon == std::string::npos || colon + 1 == target.size())
        give_up(fmt::format(
            "\"{}\" is not host:path, as in node7:/scratch/data (under a launcher, give paths only)",
            target));
      hosts += "," + target.substr(0, colon);
      paths.push_back(target.substr(colon + 1));
    }
    words = {(bin / "mpiexec").string(), "-n", std::to_string(paths.size() + 1), "--host", hosts};
    if (asked.quiet) words.emplace_back("--quiet");
    words.push_back(program);
    if (::isatty(STDERR_FILENO) != 0) words.emplace_back("--bar");
  }
  if (asked.quiet) words.emplace_back("--quiet");
  if (asked.verify) words.emplace_back("--verify");
  words.push_back(under_launcher() ? asked.source : fs::absolute(asked.source, error).string());
  words.insert(words.end(), paths.begin(), paths.end());
  return words;
}

void run(const Asked& asked) {
  const std::vector<std::string> words = command_of(asked);
  if (asked.show) {
    fmt::print("{}\n", fmt::join(words, " "));
    return;
  }
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  ::execv(arguments[0], arguments.data());
  give_up(fmt::format("{} cannot be started: {}", words[0], std::strerror(errno)));
}

}  // namespace

void add_cast(CLI::App& program) {
  CLI::App* const cast = program.add_subcommand("cast", "copy a file or a folder to many hosts at once");
  auto asked = std::make_shared<Asked>();
  cast->add_option("source", asked->source, "file or folder on this host")->required();
  cast->add_option("target", asked->targets, "host:path ...; under a launcher: paths")->required();
  cast->add_flag("-q,--quiet", asked->quiet, "say nothing unless something is wrong");
  cast->add_flag("--verify", asked->verify, "read back what was written");
  cast->add_flag("--show", asked->show, "print the command, and do nothing");
  cast->callback([asked] { run(*asked); });
}

}  // namespace herald::tools
