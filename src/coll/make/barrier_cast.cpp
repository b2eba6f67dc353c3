// SPDX-License-Identifier: BSD-3-Clause
// Barrier over the lane. Few hosts: each tells all, one step. Many: a tree up, one multicast down.
#include "coll/make/makers.hpp"

namespace herald::coll {
namespace {

constexpr int kFew = 12;
constexpr double kHearNs = 3000;  // to take one more message

double estimate(std::uint64_t, const Shape& shape) noexcept {
  if (shape.ranks <= kFew) return transfer_ns(shape, 1, 0) + shape.ranks * kHearNs;
  return transfer_ns(shape, log2_up(shape.ranks) + 1, 0);
}

void each_tells_all(const Ask& ask, Builder& b) noexcept {
  for (int rank = 0; rank < ask.size; ++rank)
    if (rank != ask.rank) b.recv(rank, Piece{});
  b.cast(Piece{});
}

void up_and_down(const Ask& ask, Builder& b) noexcept {
  StepId below = kNone;
  int distance = 1;
  for (; distance < ask.size && (ask.rank & distance) == 0; distance *= 2)
    if (ask.rank + distance < ask.size) below = b.recv(ask.rank + distance, Piece{}, {below});
  if (ask.rank != 0) b.send(ask.rank - distance, Piece{}, {below});
  b.round(1);
  if (ask.rank == 0)
    b.cast(Piece{}, {below});
  else
    b.recv(0, Piece{});
}

void make(const Ask& ask, Builder& b) noexcept {
  if (ask.size <= kFew) return each_tells_all(ask, b);
  up_and_down(ask, b);
}

}  // namespace

const Algorithm kBarrierCast{
    Op::barrier, "cast",   "each host multicasts once; many: a tree up, one multicast down",
    fits_lane,   estimate, make};

}  // namespace herald::coll
