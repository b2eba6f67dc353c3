// SPDX-License-Identifier: BSD-3-Clause
// Allgather over the lane: each rank casts its block once. Short blocks all at once; long ones one after
// another, so that they do not collide in the switch: a rank begins when the block of the one before it is
// here.
#include "coll/make/makers.hpp"

namespace herald::coll {
namespace {

double estimate(std::uint64_t bytes, const Shape& shape) noexcept {
  const double all = static_cast<double>(bytes) * (shape.ranks - 1);
  const bool together = bytes * static_cast<std::uint64_t>(shape.ranks) <= kCastTogether;
  return transfer_ns(shape, together ? 1.5 : shape.ranks * 0.5, all);
}

void make(const Ask& ask, Builder& b) noexcept {
  const Piece own = ask.recv.block(ask.rank);
  const Piece from = ask.in_place ? own : ask.send.range(0, 1);
  if (!ask.in_place) b.copy(from, own);
  if (own.bytes == 0) return;
  const bool together = own.bytes * static_cast<std::uint64_t>(ask.size) <= kCastTogether;
  StepId before = kNone;
  for (int rank = 0; rank < ask.size; ++rank) {
    if (rank == ask.rank) continue;
    const StepId here = b.recv(rank, ask.recv.block(rank));
    if (rank == ask.rank - 1) before = here;
  }
  if (together)
    b.cast(from);
  else
    b.cast(from, {before});
}

}  // namespace

const Algorithm kAllgatherCast{Op::allgather, "cast",   "each rank multicasts its block, long ones in turn",
                               fits_lane,     estimate, make};

}  // namespace herald::coll
