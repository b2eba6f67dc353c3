// SPDX-License-Identifier: BSD-3-Clause
// tests/unit/effort.hpp: the number of cases that a test runs. Sanitizers make code ten times slower: under
// them a test runs some cases, in the plain build all.
#pragma once
#include <algorithm>
#include <cstdint>

namespace herald {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#elif defined(__has_feature)
constexpr bool kSanitized = __has_feature(address_sanitizer) || __has_feature(thread_sanitizer);
#else
constexpr bool kSanitized = false;
#endif

// The number of seeds to run: fewer under a sanitizer.
constexpr std::uint64_t some_of(std::uint64_t seeds) noexcept {
  return kSanitized ? std::max<std::uint64_t>(seeds / 4, 1) : seeds;
}
// True if this case is to run. Five has no factor in common with the loops that count them.
constexpr bool is_run(std::uint64_t number) noexcept { return !kSanitized || number % 5 == 0; }

}  // namespace herald
