// SPDX-License-Identifier: BSD-3-Clause
// sim/net/chance.hpp: random decisions from a seeded generator, the same on every machine.
#pragma once
#include <cstdint>

#include "base/instant.hpp"
#include "base/prng.hpp"

namespace herald::sim {

// True with probability p. Draws a number only if 0 < p < 1.
inline bool happens(Prng& source, double p) noexcept {
  if (p <= 0) return false;
  return static_cast<double>(source.next() >> 11) < p * 0x1p53;
}

inline Duration up_to(Prng& source, Duration most) noexcept {
  if (most.ns <= 0) return {};
  return {static_cast<std::int64_t>(source.below(static_cast<std::uint64_t>(most.ns) + 1))};
}

// Uniform in [low, high].
inline std::int64_t between(Prng& source, std::int64_t low, std::int64_t high) noexcept {
  return low + static_cast<std::int64_t>(source.below(static_cast<std::uint64_t>(high - low) + 1));
}

}  // namespace herald::sim
