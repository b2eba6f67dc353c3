// SPDX-License-Identifier: BSD-3-Clause
// sim/job/pattern.hpp: the bytes of a message, which follow from a seed and its number. No two messages are
// alike, nor two places of one.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/prng.hpp"

namespace herald::sim {

constexpr std::uint64_t pattern_seed(std::uint64_t seed, std::uint64_t message) noexcept {
  return (seed + 1) * 0xd1342543de82ef95u ^ (message + 1) * 0x2545f4914f6cdd1du;
}

inline void fill_pattern(std::uint64_t seed, std::uint64_t message, std::span<std::byte> out) noexcept {
  Prng source(pattern_seed(seed, message));
  for (std::size_t at = 0; at < out.size(); at += 8) {
    const std::uint64_t word = source.next();
    std::memcpy(out.data() + at, &word, out.size() - at < 8 ? out.size() - at : 8);
  }
}

// Where the first wrong byte is; out.size() if there is none.
inline std::size_t first_wrong(std::uint64_t seed, std::uint64_t message,
                               std::span<const std::byte> in) noexcept {
  Prng source(pattern_seed(seed, message));
  for (std::size_t at = 0; at < in.size(); at += 8) {
    const std::uint64_t word = source.next();
    const std::size_t length = in.size() - at < 8 ? in.size() - at : 8;
    if (std::memcmp(in.data() + at, &word, length) == 0) continue;
    const auto* right = reinterpret_cast<const std::byte*>(&word);
    for (std::size_t i = 0; i < length; ++i)
      if (in[at + i] != right[i]) return at + i;
  }
  return in.size();
}

}  // namespace herald::sim
