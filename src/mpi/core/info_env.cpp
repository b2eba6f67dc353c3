// SPDX-License-Identifier: BSD-3-Clause
// MPI_INFO_ENV and MPI_Info_create_env: how this program was started.
#include <fcntl.h>

#include <sys/utsname.h>
#include <unistd.h>

#include <cstdio>

#include "base/fd.hpp"
#include "calls.hpp"
#include "mpi/core/info.hpp"
#include "mpi/core/tables.hpp"

namespace herald::mpi {
namespace {

constexpr struct {
  int level;
  const char* name;
} kLevels[] = {{MPI_THREAD_SINGLE, "MPI_THREAD_SINGLE"},
               {MPI_THREAD_FUNNELED, "MPI_THREAD_FUNNELED"},
               {MPI_THREAD_SERIALIZED, "MPI_THREAD_SERIALIZED"},
               {MPI_THREAD_MULTIPLE, "MPI_THREAD_MULTIPLE"}};

// Truncates values to the length of an info value.
std::string fitting(std::string text) noexcept {
  if (text.size() >= MPI_MAX_INFO_VAL) text.resize(MPI_MAX_INFO_VAL - 1);
  return text;
}

// The arguments as the kernel keeps them, separated by zeros.
std::vector<std::string> command_line() noexcept {
  std::vector<std::string> words;
  std::FILE* file = open_file("/proc/self/cmdline", O_RDONLY);
  if (file == nullptr) return words;
  std::string word;
  for (int c = std::fgetc(file); c != EOF; c = std::fgetc(file)) {
    if (c != '\0') {
      word += static_cast<char>(c);
      continue;
    }
    words.push_back(word);
    word.clear();
  }
  (void)std::fclose(file);
  if (!word.empty()) words.push_back(word);
  return words;
}

void fill(Info& info, const std::vector<std::string>& words) noexcept {
  std::string rest;
  for (std::size_t i = 1; i < words.size(); ++i) rest += (i > 1 ? " " : "") + words[i];
  if (!words.empty() && !words[0].empty()) info_put(info, "command", fitting(words[0]));
  if (!rest.empty()) info_put(info, "argv", fitting(rest));
  info_put(info, "host", fitting(host_name()));
  utsname system{};
  if (::uname(&system) == 0) info_put(info, "arch", fitting(system.machine));
  char folder[4096];
  if (::getcwd(folder, sizeof folder) != nullptr) info_put(info, "wdir", fitting(folder));
  info_put(info, "mpi_initial_errhandler", runtime().knobs().initial_errhandler);
}

}  // namespace

const char* thread_level_name(int level) noexcept {
  for (const auto& row : kLevels)
    if (row.level == level) return row.name;
  return "";
}

int thread_level_of(const std::string& name) noexcept {
  for (const auto& row : kLevels)
    if (name == row.name) return row.level;
  return -1;
}

void fill_env_info(Info& info) noexcept { fill(info, command_line()); }

void complete_env_info(Info& info, int thread_level) noexcept {
  info_put(info, "maxprocs", std::to_string(runtime().boot().size()));
  info_put(info, "soft", std::to_string(runtime().boot().size()));
  info_put(info, "thread_level", thread_level_name(thread_level));
}

// The same before, during and after MPI: keys that need a started MPI are in MPI_INFO_ENV only.
int api::info_create_env(Call&, int argc, char* argv[], MPI_Info* info) {
  Info* made = new_info();
  std::vector<std::string> words;
  for (int i = 0; argv != nullptr && i < argc && argv[i] != nullptr; ++i) words.emplace_back(argv[i]);
  fill(*made, words.empty() ? command_line() : words);
  *info = handle_of(made);
  return MPI_SUCCESS;
}

}  // namespace herald::mpi
