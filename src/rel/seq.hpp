// SPDX-License-Identifier: BSD-3-Clause
// rel/seq.hpp: sequence numbers of 32 bits that wrap around. Windows are far smaller than 2^31, so that two
// numbers can always be compared.
#pragma once
#include <cstdint>

namespace herald::rel {

using Seq = std::uint32_t;

// Steps from `from` to `to`; negative: `to` is older.
constexpr std::int32_t distance(Seq from, Seq to) noexcept { return static_cast<std::int32_t>(to - from); }
constexpr bool before(Seq a, Seq b) noexcept { return distance(a, b) > 0; }

// How far a sequence has come, as a number of 64 bits. A Seq is its lower half; the upper half is under the
// tags of datagrams.
class WholeSeq {
 public:
  WholeSeq() noexcept = default;
  explicit constexpr WholeSeq(std::uint64_t value) noexcept : value_(value) {}

  constexpr std::uint64_t value() const noexcept { return value_; }
  // Of the numbers with this lower half, the nearest.
  constexpr std::uint64_t nearest(Seq seq) const noexcept {
    return value_ + static_cast<std::uint64_t>(std::int64_t{distance(static_cast<Seq>(value_), seq)});
  }
  constexpr void advance(Seq seq) noexcept {
    if (before(static_cast<Seq>(value_), seq)) value_ = nearest(seq);
  }

 private:
  std::uint64_t value_ = 0;
};

// The upper half of a whole number, for those that keep the lower one as a Seq.
class UpperHalf {
 public:
  UpperHalf() noexcept = default;
  explicit constexpr UpperHalf(std::uint32_t first) noexcept : value_(first) {}
  constexpr WholeSeq with(Seq lower) const noexcept { return WholeSeq(std::uint64_t{value_} << 32 | lower); }
  constexpr void on_growth(Seq from, Seq to) noexcept {
    if (to < from) ++value_;
  }

 private:
  std::uint32_t value_ = 0;
};
constexpr std::uint32_t upper_half(std::uint64_t number) noexcept {
  return static_cast<std::uint32_t>(number >> 32);
}

}  // namespace herald::rel
