// SPDX-License-Identifier: BSD-3-Clause
// Bruck allgather: log2(n) rounds for any number of ranks. Blocks are stored in the order "own, next rank's,
// ..." and rotated into rank order at the end, which costs one copy of all data.
#include <algorithm>

#include "coll/make/makers.hpp"

namespace herald::coll {
namespace {

double estimate(std::uint64_t bytes, const Shape& shape) noexcept {
  const double n = shape.ranks, size = static_cast<double>(bytes);
  return transfer_ns(shape, log2_up(shape.ranks), size * (n - 1)) + n * size * shape.cost.copy_byte_ns;
}

void make(const CollSpec& spec, Builder& b) noexcept {
  const int n = spec.size;
  const Piece mine = spec.in_place ? spec.recv.block(spec.rank) : spec.send.range(0, 1);
  const std::uint64_t size = mine.bytes;
  if (size == 0) return;
  const Piece all = b.scratch(size * static_cast<std::uint64_t>(n));
  const auto blocks = [&](int begin, int end) { return blocks_of(all, size, begin, end); };
  StepId have[32];
  int known = 0;
  have[known++] = b.copy(mine, blocks(0, 1));
  for (int distance = 1; distance < n; distance *= 2) {
    const int count = std::min(distance, n - distance);
    b.round(known);
    const StepId got = b.recv((spec.rank + distance) % n, blocks(distance, distance + count));
    const StepId sent = b.send((spec.rank - distance + n) % n, blocks(0, count));
    for (int i = 0; i < known; ++i) b.depend(sent, have[i]);
    have[known++] = got;
  }
  const StepId tail = b.copy(blocks(0, n - spec.rank), spec.recv.range(spec.rank, n));
  for (int i = 0; i < known; ++i) b.depend(tail, have[i]);
  const StepId front = b.copy(blocks(n - spec.rank, n), spec.recv.range(0, spec.rank));
  for (int i = 0; i < known; ++i) b.depend(front, have[i]);
}

}  // namespace

const Algorithm kAllgatherBruck{Op::allgather, "bruck",  "log2(n) rounds for any n, one copy at the end",
                                fits_any,      estimate, make};

}  // namespace herald::coll
