// SPDX-License-Identifier: BSD-3-Clause
#include "base/fatal.hpp"

#include <cstdio>
#include <cstdlib>

namespace herald {

void bug(const char* what, const char* file, int line) noexcept {
  std::fprintf(stderr, "herald: bug: %s (%s:%d)\n", what, file, line);
  std::abort();
}

}  // namespace herald
