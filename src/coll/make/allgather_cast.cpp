// SPDX-License-Identifier: BSD-3-Clause
// Allgather over the lane: each rank casts its block once. Short blocks all at once; of long ones few at a
// time, so that they do not collide in the switch: a rank begins when the block of one before it is here.
#include "coll/make/makers.hpp"

namespace herald::coll {
namespace {

double estimate(std::uint64_t bytes, const Shape& shape) noexcept {
  const double all = static_cast<double>(bytes) * (shape.ranks - 1);
  const int at_once = casters_at_once(bytes, shape.ranks);
  return transfer_ns(shape, 1 + 0.5 * shape.ranks / at_once, all);
}

void make(const Ask& ask, Builder& b) noexcept {
  const Piece own = ask.recv.block(ask.rank);
  const Piece from = ask.in_place ? own : ask.send.range(0, 1);
  if (!ask.in_place) b.copy(from, own);
  if (own.bytes == 0) return;
  const int at_once = casters_at_once(own.bytes, ask.size);
  StepId before = kNone;
  for (int rank = 0; rank < ask.size; ++rank) {
    if (rank == ask.rank) continue;
    const StepId here = b.recv(rank, ask.recv.block(rank));
    if (rank == ask.rank - at_once) before = here;
  }
  b.cast(from, {before});
}

}  // namespace

const Algorithm kAllgatherCast{Op::allgather, "cast",   "each rank multicasts its block, long ones in turn",
                               fits_lane,     estimate, make};

}  // namespace herald::coll
