// SPDX-License-Identifier: BSD-3-Clause
// Ring allgather: in round k each rank forwards the block that it received in round k - 1. Blocks may have
// any size: also for allgatherv.
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

void make(const CollSpec& spec, Builder& b) noexcept {
  const int n = spec.size, right = (spec.rank + 1) % n, left = (spec.rank - 1 + n) % n;
  const Piece mine = spec.recv.block(spec.rank);
  // The first send reads this rank's block in the user's send buffer.
  const Piece first = spec.in_place ? mine : spec.send.range(0, 1);
  b.window(kWindow, kWindow);
  StepId have = kNone;
  for (int k = 0; k < n - 1; ++k) {
    const Piece in = spec.recv.block((spec.rank - k - 1 + n) % n);
    const Piece out = k == 0 ? first : spec.recv.block((spec.rank - k + n) % n);
    b.round(k);
    const StepId got = in.bytes == 0 ? kNone : b.recv(left, in);
    if (out.bytes != 0) b.send(right, out, {have});
    have = got;
  }
  if (!spec.in_place) b.copy(first, mine);
}

}  // namespace

const Algorithm kAllgatherRing{Op::allgather, "ring",   "blocks go round a ring, one step a round",
                               fits_any,      estimate, make};
const Algorithm kAllgathervRing{Op::allgatherv, "ring",     "blocks go round a ring, one step a round",
                                fits_any,       estimate_v, make};

}  // namespace herald::coll
