// SPDX-License-Identifier: BSD-3-Clause
// coll/make/segments.hpp: cuts data into segments for a pipeline: the same cuts at every rank, because they
// depend only on facts that all ranks share.
#pragma once
#include <algorithm>
#include <cstdint>

namespace herald::coll {

constexpr std::uint64_t kSegmentBytes = 16384;          // long enough that its bytes outweigh its start-up
constexpr std::uint64_t kFastSegmentBytes = 128 << 10;  // the same on a fast link between hosts
constexpr std::uint64_t kMostSegments = 128;            // so that a plan stays small

// `facts`: a Shape or a CollSpec.
template <class Facts>
int segments_of(std::uint64_t bytes, const Facts& facts) noexcept {
  const std::uint64_t usual = facts.fast ? kFastSegmentBytes : kSegmentBytes;
  const std::uint64_t each = facts.segment_bytes != 0 ? facts.segment_bytes : usual;
  return static_cast<int>(std::clamp<std::uint64_t>((bytes + each - 1) / each, 1, kMostSegments));
}

// A segment is a rendezvous message, and the rank that forwards it may have to be woken.
constexpr double kSegmentStart = 4;

// Nanoseconds of a pipeline of `stages` stages, with `messages` per segment at its busiest rank.
template <class Shape>
double pipeline_ns(std::uint64_t bytes, const Shape& shape, double stages, double messages) noexcept {
  const double count = segments_of(bytes, shape), each = static_cast<double>(bytes) / count;
  const double start = count > 1 ? kSegmentStart : 1;
  const double segment = start * shape.cost.message_ns + each * shape.cost.byte_ns;
  return (stages + (count - 1) * messages) * segment;
}

}  // namespace herald::coll
