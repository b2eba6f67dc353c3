// SPDX-License-Identifier: BSD-3-Clause
// tools/colour.hpp: whether output has colours: on a terminal that shows them, unless NO_COLOR is set.
#pragma once
#include <unistd.h>

#include <cstdlib>
#include <string>
#include <string_view>

namespace herald::tools {

inline bool has_colours(int fd) {
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
