// SPDX-License-Identifier: BSD-3-Clause
// Barrier over the lane: each tells all, one step; or all tell one, which casts.
#include "coll/make/cast.hpp"

namespace herald::coll {
namespace {

double estimate_cast(std::uint64_t, const Shape& shape) noexcept { return all_cast_ns(shape, 0); }
double estimate_gather(std::uint64_t, const Shape& shape) noexcept { return up_and_cast_ns(shape, 0, 0); }

void make_cast(const CollSpec& ask, Builder& b) noexcept {
  for (int rank = 0; rank < ask.size; ++rank)
    if (rank != ask.rank) b.recv(rank, Piece{});
  b.cast(Piece{});
}

void make_gather(const CollSpec& ask, Builder& b) noexcept {
  const FanTree tree(ask.rank, ask.size);
  std::vector<StepId> below;
  for (const int child : tree.children) below.push_back(b.recv(child, Piece{}));
  if (tree.parent >= 0) b.recv(0, Piece{});
  const StepId told = tree.parent >= 0 ? b.send(tree.parent, Piece{}) : b.cast(Piece{});
  for (const StepId heard : below) b.also(told, heard);
}

double estimate_fused(std::uint64_t, const Shape& shape) noexcept { return fused_ns(shape, 0, 0); }

void make_fused(const CollSpec& ask, Builder& b) noexcept {
  if (ask.rank != 0)
    b.report(Piece{}, Piece{});
  else
    b.tell(Piece{}, {b.collect(ask.size, Piece{})});
}

}  // namespace

const Algorithm kBarrierFused{Op::barrier, "fused",        "all report to one, which tells all",
                              fits_fused,  estimate_fused, make_fused};
const Algorithm kBarrierCast{Op::barrier, "cast",        "each rank multicasts once",
                             fits_lane,   estimate_cast, make_cast};
const Algorithm kBarrierGatherCast{Op::barrier, "gather_cast",   "all tell one, which multicasts",
                                   fits_lane,   estimate_gather, make_gather};

}  // namespace herald::coll
