// SPDX-License-Identifier: BSD-3-Clause
// coll/make/cast.hpp: cost terms and limits that the algorithms over a lane share.
// A waiting host is woken by each message: where every rank multicasts, by each of the others; where rank 0
// gathers and multicasts, all ranks but rank 0 are woken once.
#pragma once
#include <algorithm>

#include "coll/make/fan_tree.hpp"
#include "coll/make/makers.hpp"
#include "wire/lane.hpp"

namespace herald::coll {

inline bool fits_lane(const Shape& shape) noexcept { return shape.lane && shape.ranks > 2; }

constexpr double kWakeNs = 8000;  // one more wake-up
// One more message of so many bytes at a rank that is awake, beside the time of its bytes on the wire.
inline double receive_ns(double bytes) noexcept { return 2000 + std::min(bytes, 1000.0); }

// Every rank multicasts `bytes` at the same time.
inline double all_cast_ns(const Shape& shape, double bytes) noexcept {
  return transfer_ns(shape, 1, bytes * (shape.ranks - 1)) + (shape.ranks - 1) * kWakeNs;
}
// Up the tree to rank 0, which receives `up` bytes in all and multicasts `down` bytes.
inline double up_and_cast_ns(const Shape& shape, double up, double down) noexcept {
  const int depth = FanTree::depth(shape.ranks), others = shape.ranks - 1;
  return transfer_ns(shape, depth + 1, up + down) +
         depth * std::min(others, kFanIn) * receive_ns(up / others);
}

// The same without a tree, by a fused exchange (rel/fused_exchange.hpp), which takes fewer software steps.
constexpr double kFusedSaves = 0.75, kContributionNs = 3000;
inline bool fits_fused(const Shape& shape) noexcept {
  return fits_lane(shape) && shape.in_order && shape.ranks <= int{wire::kMaxFusedMembers};
}
inline double fused_ns(const Shape& shape, double up, double down) noexcept {
  return kFusedSaves * (transfer_ns(shape, 2, up + down) + (shape.ranks - 1) * kContributionNs);
}

// Bytes that all ranks together may multicast at once without overflow of a switch's buffers.
constexpr std::uint64_t kCastTogether = 128 << 10;
// Longer data is multicast in turns of so many bytes (turns.hpp).
constexpr std::uint64_t kTurnBytes = 24 << 10;
// On a fast link a turn is worth its wake-ups only if it is longer, and the switch passes it on at once.
constexpr std::uint64_t kFastTurnBytes = 256 << 10;
constexpr std::uint64_t turn_bytes(bool fast) noexcept { return fast ? kFastTurnBytes : kTurnBytes; }

}  // namespace herald::coll
