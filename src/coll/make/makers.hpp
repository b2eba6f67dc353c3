// SPDX-License-Identifier: BSD-3-Clause
// coll/make/makers.hpp: the algorithms by family, and terms that several of them share.
#pragma once
#include "coll/table.hpp"

namespace herald::coll {

extern const std::span<const Algorithm> kBarrierAlgorithms, kBcastAlgorithms, kGatherScatterAlgorithms,
    kAllgatherAlgorithms, kAlltoallAlgorithms, kReduceAlgorithms, kAllreduceAlgorithms,
    kReduceScatterAlgorithms, kScanAlgorithms, kSharedMoveAlgorithms, kSharedReduceAlgorithms,
    kStreamAlgorithms, kCastAlgorithms, kReduceCastAlgorithms, kPackedCastAlgorithms, kTwoLevelMoveAlgorithms,
    kTwoLevelGatherAlgorithms, kTwoLevelReduceAlgorithms, kTwoLevelAlltoallAlgorithms;

inline bool fits_any(const Shape&) noexcept { return true; }
inline bool fits_three(const Shape& shape) noexcept { return shape.ranks > 2; }
// Each rank has a port of the switch.
inline bool fits_incast(const Shape& shape) noexcept {
  return shape.ranks > 2 && shape.incast.buffer_bytes > 0 && shape.largest_host == 1;
}
inline bool fits_commuting(const Shape& shape) noexcept { return shape.commutes; }

// Messages that a rank of a ring, or the root of a linear algorithm, keeps outstanding.
constexpr std::uint32_t kWindow = 16;

// Between hosts an eager message of up to about so many bytes is sent whole, and back-to-back sends keep the
// link full. The sender of a longer message waits for its receiver.
constexpr std::uint64_t kRemoteEager = 65536;

}  // namespace herald::coll
