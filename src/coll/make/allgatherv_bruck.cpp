// SPDX-License-Identifier: BSD-3-Clause
// Bruck allgatherv: log2(n) rounds for any number of ranks and any sizes, which all ranks know. Blocks are
// packed in the order "own, next rank's, ..." and copied to their destinations at the end.
#include <algorithm>
#include <vector>

#include "coll/make/makers.hpp"

namespace herald::coll {
namespace {

double estimate(std::uint64_t bytes, const Shape& shape) noexcept {
  const double size = static_cast<double>(bytes);
  return transfer_ns(shape, log2_up(shape.ranks), size) + size * shape.cost.copy_byte_ns;
}

void make(const CollSpec& spec, Builder& b) noexcept {
  const int n = spec.size;
  std::vector<std::uint64_t> at(static_cast<std::size_t>(n) + 1, 0);  // where block rank + i begins
  for (int i = 0; i < n; ++i)
    at[static_cast<std::size_t>(i) + 1] =
        at[static_cast<std::size_t>(i)] + spec.recv.bytes((spec.rank + i) % n);
  if (at.back() == 0) return;
  const Piece all = b.scratch(at.back());
  const auto blocks = [&](int begin, int end) {
    const std::uint64_t first = at[static_cast<std::size_t>(begin)];
    return bytes_of(all, first, at[static_cast<std::size_t>(end)] - first);
  };
  struct Came {
    StepId step;
    int begin, end;
  };
  std::vector<Came> came;
  const Piece mine = spec.in_place ? spec.recv.block(spec.rank) : spec.send.range(0, 1);
  came.push_back({b.copy(mine, blocks(0, 1)), 0, 1});
  for (int distance = 1, round = 0; distance < n; distance *= 2, ++round) {
    const int count = std::min(distance, n - distance);
    const Piece in = blocks(distance, distance + count), out = blocks(0, count);
    b.round(round);
    const StepId got = in.bytes == 0 ? kNone : b.recv((spec.rank + distance) % n, in);
    if (out.bytes != 0) {
      const StepId sent = b.send((spec.rank - distance + n) % n, out);
      for (const Came& one : came)
        if (one.begin < count) b.depend(sent, one.step);
    }
    came.push_back({got, distance, distance + count});
  }
  for (const Came& one : came)
    for (int i = std::max(one.begin, spec.in_place ? 1 : 0); i < one.end; ++i)
      b.copy(blocks(i, i + 1), spec.recv.block((spec.rank + i) % n), {one.step});
}

}  // namespace

const Algorithm kAllgathervBruck{Op::allgatherv, "bruck",  "log2(n) rounds for any n, one copy at the end",
                                 fits_any,       estimate, make};

}  // namespace herald::coll
