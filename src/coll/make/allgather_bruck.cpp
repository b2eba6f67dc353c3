// SPDX-License-Identifier: BSD-3-Clause
// Allgather after Bruck: log2(n) rounds for any number of ranks. Blocks are kept in the order "mine, the next
// rank's, ..." and turned into rank order at the end, which costs a copy of everything.
#include <algorithm>

#include "coll/make/makers.hpp"

namespace herald::coll {
namespace {

double estimate(std::uint64_t bytes, const Shape& shape) noexcept {
  const double n = shape.ranks, size = static_cast<double>(bytes);
  return transfer_ns(shape, log2_up(shape.ranks), size * (n - 1)) + n * size * shape.cost.copy_byte_ns;
}

void make(const CollSpec& ask, Builder& b) noexcept {
  const int n = ask.size;
  const Piece mine = ask.in_place ? ask.recv.block(ask.rank) : ask.send.range(0, 1);
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
    const StepId got = b.recv((ask.rank + distance) % n, blocks(distance, distance + count));
    const StepId sent = b.send((ask.rank - distance + n) % n, blocks(0, count));
    for (int i = 0; i < known; ++i) b.also(sent, have[i]);
    have[known++] = got;
  }
  const StepId tail = b.copy(blocks(0, n - ask.rank), ask.recv.range(ask.rank, n));
  for (int i = 0; i < known; ++i) b.also(tail, have[i]);
  const StepId front = b.copy(blocks(n - ask.rank, n), ask.recv.range(0, ask.rank));
  for (int i = 0; i < known; ++i) b.also(front, have[i]);
}

}  // namespace

const Algorithm kAllgatherBruck{Op::allgather, "bruck",  "log2(n) rounds for any n, one copy at the end",
                                fits_any,      estimate, make};

}  // namespace herald::coll
