// SPDX-License-Identifier: BSD-3-Clause
// coll/make/cast.hpp: what the algorithms over a lane have in common.
// A host that waits is woken by what it hears: where every rank casts, each of them by each of the others;
// where they tell one rank, which casts, all but that one are woken once.
#pragma once
#include <algorithm>

#include "coll/make/fan_tree.hpp"
#include "coll/make/makers.hpp"
#include "wire/lane.hpp"

namespace herald::coll {

inline bool fits_lane(const Shape& shape) noexcept { return shape.lane && shape.ranks > 2; }

constexpr double kWakeNs = 8000;  // to be woken once more
constexpr double kHearNs = 3000;  // to take one more message when awake

// Every rank casts `bytes`, at once.
inline double all_cast_ns(const Shape& shape, double bytes) noexcept {
  return transfer_ns(shape, 1, bytes * (shape.ranks - 1)) + (shape.ranks - 1) * kWakeNs;
}
// Up the tree to rank 0, into which `up` bytes come together, and `down` bytes to all.
inline double up_and_cast_ns(const Shape& shape, double up, double down) noexcept {
  const int depth = FanTree::depth(shape.ranks);
  return transfer_ns(shape, depth + 1, up + down) + depth * std::min(shape.ranks - 1, kFanIn) * kHearNs;
}

// As the same without a tree, by a fused exchange (rel/fused_exchange.hpp): fewer steps of software on the
// way.
constexpr double kFusedSaves = 0.75;
inline bool fits_fused(const Shape& shape) noexcept {
  return fits_lane(shape) && shape.in_order && shape.ranks <= int{wire::kMaxFusedMembers};
}
inline double fused_ns(const Shape& shape, double up, double down) noexcept {
  return kFusedSaves * (transfer_ns(shape, 2, up + down) + (shape.ranks - 1) * kHearNs);
}

// What all ranks cast at once, in bytes together, without the switch losing some of it.
constexpr std::uint64_t kCastTogether = 128 << 10;
// Longer data is cast in turns of so many bytes: see turns.hpp.
constexpr std::uint64_t kTurnBytes = 24 << 10;

}  // namespace herald::coll
