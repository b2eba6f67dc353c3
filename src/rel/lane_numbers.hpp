// SPDX-License-Identifier: BSD-3-Clause
// rel/lane_numbers.hpp: how far the numbers of a lane have come. Their upper halves are not sent, but are
// under the tags: so a copy of a datagram is refused when its 32-bit number comes again.
#pragma once
#include <cstdint>
#include <vector>

#include "rel/seq.hpp"

namespace herald::rel {

constexpr Seq kFirstCast = 0xffffff80;  // of every stream; so every long one wraps around

class LaneNumbers {
 public:
  // `upper`: half of the first numbers.
  LaneNumbers(std::uint32_t upper, std::size_t members) noexcept
      : first_(first_cast(upper)), exchanges_(first_exchange(upper)), casts_(members, WholeSeq(first_)) {}

  // The whole number of a cast in the stream of the member at `source`, and of a fused exchange.
  std::uint64_t cast(std::size_t source, Seq seq) const noexcept { return casts_[source].nearest(seq); }
  std::uint64_t exchange(Seq number) const noexcept { return exchanges_.nearest(number); }
  // They have come so far, without a gap of more than a window.
  void on_cast(std::size_t source, Seq seq) noexcept { casts_[source].advance(seq); }
  void on_exchange(Seq number) noexcept { exchanges_.advance(number); }

  // Whole numbers cannot be told any more from those of a new lane.
  bool is_far() const noexcept {
    constexpr std::uint64_t kFar = std::uint64_t{1} << 30;
    for (const WholeSeq& one : casts_)
      if (one.value() - first_ > kFar) return true;
    return static_cast<Seq>(exchanges_.value()) > kFar || exchanges_.value() >> 32 != first_ >> 32;
  }

  // Of a lane that was never open here.
  static std::uint64_t new_cast(std::uint32_t upper, Seq seq) noexcept {
    return WholeSeq(first_cast(upper)).nearest(seq);
  }
  static std::uint64_t new_exchange(std::uint32_t upper, Seq number) noexcept {
    return WholeSeq(first_exchange(upper)).nearest(number);
  }

 private:
  static std::uint64_t first_cast(std::uint32_t upper) noexcept {
    return std::uint64_t{upper} << 32 | kFirstCast;
  }
  static std::uint64_t first_exchange(std::uint32_t upper) noexcept { return std::uint64_t{upper} << 32; }

  std::uint64_t first_;
  WholeSeq exchanges_;
  std::vector<WholeSeq> casts_;  // by place
};

}  // namespace herald::rel
