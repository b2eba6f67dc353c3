// SPDX-License-Identifier: BSD-3-Clause
// base/fatal.hpp: assertions for our own bugs. They stay on in release builds.
// They never judge what a user or a packet brought.
#pragma once

namespace herald {

// Prints "herald: bug: WHAT (FILE:LINE)" and calls abort().
[[noreturn]] void bug(const char* what, const char* file, int line) noexcept;

}  // namespace herald

#define HERALD_ASSERT(condition) \
  (__builtin_expect(!!(condition), 1) ? (void)0 : ::herald::bug(#condition, __FILE__, __LINE__))
