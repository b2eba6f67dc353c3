// SPDX-License-Identifier: BSD-3-Clause
// Allgather round a ring: in round k each rank passes on the block that it got in round k - 1. Blocks may be
// of any size, so it serves allgatherv too.
#include "coll/make/makers.hpp"

namespace herald::coll {
namespace {

double estimate(std::uint64_t bytes, const Shape& shape) noexcept {
  const double rounds = shape.ranks - 1;
  return transfer_ns(shape, rounds, rounds * static_cast<double>(bytes));
}

double estimate_v(std::uint64_t bytes, const Shape& shape) noexcept {
  return transfer_ns(shape, shape.ranks - 1, static_cast<double>(bytes));
}

void make(const CollSpec& ask, Builder& b) noexcept {
  const int n = ask.size, right = (ask.rank + 1) % n, left = (ask.rank - 1 + n) % n;
  const Piece mine = ask.recv.block(ask.rank);
  // The first send takes this rank's block from where the user has it.
  const Piece first = ask.in_place ? mine : ask.send.range(0, 1);
  b.window(kWindow, kWindow);
  StepId have = kNone;
  for (int k = 0; k < n - 1; ++k) {
    const Piece in = ask.recv.block((ask.rank - k - 1 + n) % n);
    const Piece out = k == 0 ? first : ask.recv.block((ask.rank - k + n) % n);
    b.round(k);
    const StepId got = in.bytes == 0 ? kNone : b.recv(left, in);
    if (out.bytes != 0) b.send(right, out, {have});
    have = got;
  }
  if (!ask.in_place) b.copy(first, mine);
}

}  // namespace

const Algorithm kAllgatherRing{Op::allgather, "ring",   "blocks go round a ring, one step a round",
                               fits_any,      estimate, make};
const Algorithm kAllgathervRing{Op::allgatherv, "ring",     "blocks go round a ring, one step a round",
                                fits_any,       estimate_v, make};

}  // namespace herald::coll
