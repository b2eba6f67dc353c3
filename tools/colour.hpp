// SPDX-License-Identifier: BSD-3-Clause
// tools/colour.hpp: whether output has colours: on a terminal that shows them, unless NO_COLOR is set.
#pragma once
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>

namespace herald::tools {

// Open MPI's mpirun gives each rank a pseudo-terminal, even if its own output is a file.
inline bool is_launcher_on_terminal() {
  std::error_code none;
  const std::string name =
      std::filesystem::read_symlink("/proc/" + std::to_string(getppid()) + "/fd/1", none).string();
  return name.starts_with("/dev/pts/") || name.starts_with("/dev/tty");
}

inline bool has_colours(int fd) {
  if (std::getenv("PMIX_NAMESPACE") != nullptr && !is_launcher_on_terminal()) return false;
  const char* const no_colour = std::getenv("NO_COLOR");
  const char* const terminal = std::getenv("TERM");
  return isatty(fd) != 0 && (no_colour == nullptr || *no_colour == '\0') && terminal != nullptr &&
         std::string_view(terminal) != "dumb";
}

inline std::string in_red(const std::string& text, bool colours) {
  return colours ? "\033[1;31m" + text + "\033[0m" : text;
}

inline std::string in_green(const std::string& text, bool colours) {
  return colours ? "\033[32m" + text + "\033[0m" : text;
}

}  // namespace herald::tools
