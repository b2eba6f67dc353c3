// SPDX-License-Identifier: BSD-3-Clause
// Barrier over the lane: each rank multicasts once; or all notify rank 0, which multicasts.
#include "coll/make/cast.hpp"

namespace herald::coll {
namespace {

double estimate_cast(std::uint64_t, const Shape& shape) noexcept { return all_cast_ns(shape, 0); }
double estimate_gather(std::uint64_t, const Shape& shape) noexcept { return up_and_cast_ns(shape, 0, 0); }

void make_cast(const CollSpec& spec, Builder& b) noexcept {
  for (int rank = 0; rank < spec.size; ++rank)
    if (rank != spec.rank) b.recv(rank, Piece{});
  b.cast(Piece{});
}

void make_gather(const CollSpec& spec, Builder& b) noexcept {
  const FanTree tree(spec.rank, spec.size);
  std::vector<StepId> below;
  for (const int child : tree.children) below.push_back(b.recv(child, Piece{}));
  if (tree.parent >= 0) b.recv(0, Piece{});
  const StepId sent_up = tree.parent >= 0 ? b.send(tree.parent, Piece{}) : b.cast(Piece{});
  for (const StepId received : below) b.depend(sent_up, received);
}

double estimate_fused(std::uint64_t, const Shape& shape) noexcept { return fused_ns(shape, 0, 0); }

void make_fused(const CollSpec& spec, Builder& b) noexcept {
  if (spec.rank != 0)
    b.contribute(Piece{}, Piece{});
  else
    b.announce(Piece{}, {b.gather(spec.size, Piece{})});
}

}  // namespace

const Algorithm kBarrierFused{Op::barrier, "fused",        "all contribute to one rank, which multicasts",
                              fits_fused,  estimate_fused, make_fused};
const Algorithm kBarrierCast{Op::barrier, "cast",        "each rank multicasts once",
                             fits_lane,   estimate_cast, make_cast};
const Algorithm kBarrierGatherCast{Op::barrier, "gather_cast",   "all notify one rank, which multicasts",
                                   fits_lane,   estimate_gather, make_gather};

}  // namespace herald::coll
