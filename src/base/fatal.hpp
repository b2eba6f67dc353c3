// SPDX-License-Identifier: BSD-3-Clause
// base/fatal.hpp: the two ways to end the process at once: bug() for our own errors, which stays on in
// release builds and never judges what a user or a peer sent; fatal() for a system that does not work.
#pragma once

namespace herald {

// Prints "herald: bug: WHAT (FILE:LINE)" and calls abort().
[[noreturn]] void bug(const char* what, const char* file, int line) noexcept;

// Prints "herald: MESSAGE" and ends the process with exit code 1. No exit handlers run: locks may be held.
[[noreturn, gnu::format(printf, 1, 2)]] void fatal(const char* format, ...) noexcept;

}  // namespace herald

#define HERALD_ASSERT(condition) \
  (__builtin_expect(!!(condition), 1) ? (void)0 : ::herald::bug(#condition, __FILE__, __LINE__))
