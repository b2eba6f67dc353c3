// SPDX-License-Identifier: BSD-3-Clause
// Neighbor-exchange allgather, for even n: ranks 2i and 2i + 1 first exchange their blocks. Then each rank
// exchanges with its left and right neighbors alternately, and forwards the pair of blocks that it received
// last. Half the rounds of a ring.
#include "coll/make/makers.hpp"

namespace herald::coll {
namespace {

double estimate(std::uint64_t bytes, const Shape& shape) noexcept {
  const double n = shape.ranks;
  return transfer_ns(shape, n / 2, (n - 1) * static_cast<double>(bytes));
}

void make(const CollSpec& spec, Builder& b) noexcept {
  const int n = spec.size;
  const Piece mine = spec.recv.block(spec.rank);
  if (mine.bytes == 0) return;
  const Piece own = spec.in_place ? mine : spec.send.range(0, 1);
  const bool even = spec.rank % 2 == 0;
  // The partner of the pair, then the other neighbor.
  const int neighbor[2] = {(spec.rank + (even ? 1 : -1) + n) % n, (spec.rank + (even ? -1 : 1) + n) % n};
  // First block of the pair that each side sends next; it moves away by one pair each time.
  const int pair = even ? spec.rank : spec.rank - 1;
  int from[2] = {pair, pair};
  const int step[2] = {even ? 2 : -2, even ? -2 : 2};

  b.window(kWindow, kWindow);
  b.round(0);
  const StepId copied = spec.in_place ? kNone : b.copy(own, mine);
  StepId have = b.recv(neighbor[0], spec.recv.block(neighbor[0]));
  b.send(neighbor[0], own);
  int last = pair;
  for (int k = 1; k < n / 2; ++k) {
    const int side = k % 2;
    from[side] = (from[side] + step[side] + n) % n;
    b.round(k);
    const StepId got = b.recv(neighbor[side], spec.recv.range(from[side], from[side] + 2));
    b.send(neighbor[side], spec.recv.range(last, last + 2), {have, copied});
    last = from[side];
    have = got;
  }
}

bool fits(const Shape& shape) noexcept { return shape.ranks % 2 == 0; }

}  // namespace

const Algorithm kAllgatherNeighbor{
    Op::allgather, "neighbor", "exchange with the left and the right in turns; even n only",
    fits,          estimate,   make};

}  // namespace herald::coll
