// SPDX-License-Identifier: BSD-3-Clause
#include "base/fatal.hpp"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

namespace herald {

void bug(const char* what, const char* file, int line) noexcept {
  std::fprintf(stderr, "herald: bug: %s (%s:%d)\n", what, file, line);
  std::abort();
}

void fatal(const char* format, ...) noexcept {
  char text[500];
  std::va_list arguments;
  va_start(arguments, format);
  (void)std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  std::fprintf(stderr, "herald: %s\n", text);
  std::_Exit(1);
}

}  // namespace herald
