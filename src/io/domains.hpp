// SPDX-License-Identifier: BSD-3-Clause
// io/domains.hpp: plans of collective access in two phases.
// In:  what each rank accesses. Out: whether two phases pay, and which aggregator owns which bytes of the
// file. Invariant: domains are disjoint, so aggregators need no locks.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "io/view.hpp"

namespace herald::io {

// The access of one rank, as all ranks know it.
struct RankAccess {
  std::int64_t first = 0, last = 0;  // bytes of the file from the first to behind the last; equal: nothing
  std::int64_t piece = 0;            // bytes of its first segment
  std::int64_t position = 0, bytes = 0;
  bool empty() const noexcept { return bytes == 0; }
};

// The bytes that any rank accesses lie in this segment.
Segment hull_of(std::span<const RankAccess> ranks) noexcept;

// Ranks access alternating segments that are shorter than `large`.
bool is_interleaved(std::span<const RankAccess> ranks, std::int64_t large) noexcept;

// Cuts a segment of the file into `count` domains of equal size that begin at multiples of `alignment`, and
// every domain into windows of at most `window_bytes`. Window n of each domain is handled in round n.
class Domains {
 public:
  Domains(const Segment& hull, int count, std::int64_t alignment, std::int64_t window_bytes) noexcept;
  std::int64_t rounds() const noexcept { return rounds_; }
  // May be empty: the hull can end before the domain does.
  Segment window(int domain, std::int64_t round) const noexcept;

 private:
  Segment hull_;
  std::int64_t start_, domain_bytes_, window_bytes_, rounds_;
};

// The positions of a view that lie in a segment of the file and in an access of the view.
struct Positions {
  std::int64_t begin, end;
  std::int64_t bytes() const noexcept { return end - begin; }
};
Positions positions_in(const View& view, const RankAccess& access, const Segment& segment) noexcept;

}  // namespace herald::io
