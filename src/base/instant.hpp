// SPDX-License-Identifier: BSD-3-Clause
// base/instant.hpp: a point in time, in nanoseconds of a monotonic clock.
// Pure rooms get instants as arguments; only the engine and the tools read a clock.
#pragma once
#include <compare>
#include <cstdint>

namespace herald {

struct Duration {
  std::int64_t ns = 0;
  auto operator<=>(const Duration&) const = default;
};

struct Instant {
  std::int64_t ns = 0;
  auto operator<=>(const Instant&) const = default;
  friend Duration operator-(Instant a, Instant b) { return {a.ns - b.ns}; }
  friend Instant operator+(Instant a, Duration d) { return {a.ns + d.ns}; }
};

constexpr Duration microseconds(std::int64_t n) { return {n * 1'000}; }
constexpr Duration milliseconds(std::int64_t n) { return {n * 1'000'000}; }

}  // namespace herald
