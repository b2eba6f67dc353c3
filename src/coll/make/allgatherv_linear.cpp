// SPDX-License-Identifier: BSD-3-Clause
// Allgatherv straight: every rank sends its block to all others, the next one first. Nothing is passed on, so
// a single large block does not hold up the others.
#include "coll/make/makers.hpp"

namespace herald::coll {
namespace {

// The start-up overlaps by half; everybody sends at the same time, which crowds.
double estimate(std::uint64_t bytes, const Shape& shape) noexcept {
  return transfer_ns(shape, 0.8 * (shape.ranks - 1), 1.3 * static_cast<double>(bytes));
}

void make(const CollSpec& ask, Builder& b) noexcept {
  const int n = ask.size;
  const Piece mine = ask.recv.block(ask.rank), own = ask.in_place ? mine : ask.send.range(0, 1);
  b.window(kWindow, kWindow);
  for (int k = 1; k < n; ++k) {
    const int to = (ask.rank + k) % n, from = (ask.rank - k + n) % n;
    const Piece in = ask.recv.block(from);
    if (in.bytes != 0) b.recv(from, in);
    if (own.bytes != 0) b.send(to, own);
  }
  if (!ask.in_place) b.copy(own, mine);
}

}  // namespace

const Algorithm kAllgathervLinear{Op::allgatherv, "linear", "every rank sends its block to all others",
                                  fits_any,       estimate, make};

}  // namespace herald::coll
