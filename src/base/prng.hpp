// SPDX-License-Identifier: BSD-3-Clause
// base/prng.hpp: a seeded pseudo-random generator (SplitMix64), passed by reference to its users.
#pragma once
#include <cstdint>

namespace herald {

class Prng {
 public:
  explicit Prng(std::uint64_t seed) noexcept : state_(seed) {}

  std::uint64_t next() noexcept {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }

  // Uniform enough in [0, bound); bound must not be 0.
  std::uint64_t below(std::uint64_t bound) noexcept { return next() % bound; }

 private:
  std::uint64_t state_;
};

}  // namespace herald
