// SPDX-License-Identifier: BSD-3-Clause
#include "start.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include "commands.hpp"

namespace herald::tools {

std::filesystem::path own_prefix() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).parent_path().parent_path();
}

bool under_launcher() {
  for (const char* name : {"PMIX_NAMESPACE", "PMI_RANK", "PMI_FD"})
    if (std::getenv(name) != nullptr) return true;
  return false;
}

void become(const std::string& command, const std::vector<std::string>& words) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  ::execvp(arguments[0], arguments.data());
  fail(command, fmt::format("{} cannot be started: {}", words[0], std::strerror(errno)));
}

void fail(const std::string& command, const std::string& why) {
  fmt::print(stderr, "herald {}: {}\n", command, why);
  throw CLI::RuntimeError(2);
}

}  // namespace herald::tools
