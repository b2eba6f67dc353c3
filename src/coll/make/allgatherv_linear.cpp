// SPDX-License-Identifier: BSD-3-Clause
// Linear allgatherv: every rank sends its block to all others, its successor first. Nothing is forwarded, so
// a single large block does not delay the others.
#include "coll/make/makers.hpp"

namespace herald::coll {
namespace {

// Half of the start-up overlaps; all ranks send at the same time, which congests the links.
double estimate(std::uint64_t bytes, const Shape& shape) noexcept {
  return transfer_ns(shape, 0.8 * (shape.ranks - 1), 1.3 * static_cast<double>(bytes));
}

void make(const CollSpec& spec, Builder& b) noexcept {
  const int n = spec.size;
  const Piece mine = spec.recv.block(spec.rank), own = spec.in_place ? mine : spec.send.range(0, 1);
  b.window(kWindow, kWindow);
  for (int k = 1; k < n; ++k) {
    const int to = (spec.rank + k) % n, from = (spec.rank - k + n) % n;
    const Piece in = spec.recv.block(from);
    if (in.bytes != 0) b.recv(from, in);
    if (own.bytes != 0) b.send(to, own);
  }
  if (!spec.in_place) b.copy(own, mine);
}

}  // namespace

const Algorithm kAllgathervLinear{Op::allgatherv, "linear", "every rank sends its block to all others",
                                  fits_any,       estimate, make};

}  // namespace herald::coll
