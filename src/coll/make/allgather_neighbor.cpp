// SPDX-License-Identifier: BSD-3-Clause
// Allgather by neighbour exchange, for even n: ranks 2i and 2i + 1 first exchange their blocks, then
// everybody exchanges with the left and the right neighbour in turns, each time passing on the pair of blocks
// that came last. Half the rounds of a ring, and only neighbours talk.
#include "coll/make/makers.hpp"

namespace herald::coll {
namespace {

double estimate(std::uint64_t bytes, const Shape& shape) noexcept {
  const double n = shape.ranks;
  return transfer_ns(shape, n / 2, (n - 1) * static_cast<double>(bytes));
}

void make(const CollSpec& ask, Builder& b) noexcept {
  const int n = ask.size;
  const Piece mine = ask.recv.block(ask.rank);
  if (mine.bytes == 0) return;
  const Piece own = ask.in_place ? mine : ask.send.range(0, 1);
  const bool even = ask.rank % 2 == 0;
  // The partner of the pair, then the other neighbour.
  const int neighbor[2] = {(ask.rank + (even ? 1 : -1) + n) % n, (ask.rank + (even ? -1 : 1) + n) % n};
  // Where the pair of blocks lies that comes from each side next; it moves away by one pair each time.
  const int pair = even ? ask.rank : ask.rank - 1;
  int from[2] = {pair, pair};
  const int step[2] = {even ? 2 : -2, even ? -2 : 2};

  b.window(kWindow, kWindow);
  b.round(0);
  const StepId copied = ask.in_place ? kNone : b.copy(own, mine);
  StepId have = b.recv(neighbor[0], ask.recv.block(neighbor[0]));
  b.send(neighbor[0], own);
  int last = pair;
  for (int k = 1; k < n / 2; ++k) {
    const int side = k % 2;
    from[side] = (from[side] + step[side] + n) % n;
    b.round(k);
    const StepId got = b.recv(neighbor[side], ask.recv.range(from[side], from[side] + 2));
    b.send(neighbor[side], ask.recv.range(last, last + 2), {have, copied});
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
