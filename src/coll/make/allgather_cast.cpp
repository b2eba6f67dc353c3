// SPDX-License-Identifier: BSD-3-Clause
// Allgather over the lane: each rank casts its block once, long ones in turns (turns.hpp); or all blocks come
// to one rank, which casts them together.
#include "coll/make/turns.hpp"

namespace herald::coll {
namespace {

double estimate_cast(std::uint64_t bytes, const Shape& shape) noexcept {
  return turns_ns(shape, static_cast<double>(bytes));
}
double estimate_castv(std::uint64_t bytes, const Shape& shape) noexcept {
  return turns_ns(shape, static_cast<double>(bytes) / shape.ranks);
}

// Serves allgatherv too: every rank knows all sizes.
void make_cast(const CollSpec& ask, Builder& b) noexcept {
  std::vector<Piece> blocks;
  for (int rank = 0; rank < ask.size; ++rank) blocks.push_back(ask.recv.block(rank));
  const auto me = static_cast<std::size_t>(ask.rank);
  if (!ask.in_place) {
    const Piece from = ask.send.range(0, 1);
    b.copy(from, blocks[me]);
    blocks[me] = from;
  }
  Turns(b, ask.rank, blocks, kNone).make();
}

double estimate_gather(std::uint64_t bytes, const Shape& shape) noexcept {
  const double each = static_cast<double>(bytes);
  return up_and_cast_ns(shape, each * (shape.ranks - 1), each * shape.ranks);
}

void make_gather(const CollSpec& ask, Builder& b) noexcept {
  if (ask.bytes == 0) return;
  const FanTree tree(ask.rank, ask.size);
  const StepId own = ask.in_place ? kNone : b.copy(ask.send.range(0, 1), ask.recv.block(ask.rank));
  std::vector<StepId> below;
  for (const int child : tree.children)
    below.push_back(b.recv(child, ask.recv.range(child, FanTree(child, ask.size).end)));
  const Piece mine = ask.recv.range(ask.rank, tree.end), all = ask.recv.range(0, ask.size);
  const StepId told = tree.parent >= 0 ? b.send(tree.parent, mine, {own}) : b.cast(all, {own});
  for (const StepId heard : below) b.also(told, heard);
  if (tree.parent >= 0) b.recv(0, all, {told});
}

double estimate_fused(std::uint64_t bytes, const Shape& shape) noexcept {
  const double each = static_cast<double>(bytes);
  if (bytes > wire::kMaxContribution || bytes * static_cast<std::uint64_t>(shape.ranks) > wire::kMaxResult)
    return kNeverNs;
  return fused_ns(shape, each * (shape.ranks - 1), each * shape.ranks);
}

void make_fused(const CollSpec& ask, Builder& b) noexcept {
  if (ask.bytes == 0) return;
  const Piece own = ask.in_place ? ask.recv.block(ask.rank) : ask.send.range(0, 1),
              all = ask.recv.range(0, ask.size);
  if (ask.rank != 0) {
    b.report(own, all);
    return;
  }
  const StepId copied = ask.in_place ? kNone : b.copy(own, ask.recv.block(0));
  b.tell(all, {b.collect(ask.size, all), copied});
}

}  // namespace

const Algorithm kAllgatherFused{
    Op::allgather, "fused",        "all report to one, which tells all blocks to all",
    fits_fused,    estimate_fused, make_fused};
const Algorithm kAllgatherCast{
    Op::allgather, "cast",        "each rank multicasts its block, long ones in turns",
    fits_lane,     estimate_cast, make_cast};
const Algorithm kAllgatherGatherCast{
    Op::allgather, "gather_cast",   "gathered to one rank, which multicasts all blocks together",
    fits_lane,     estimate_gather, make_gather};
const Algorithm kAllgathervCast{
    Op::allgatherv, "cast",         "each rank multicasts its block, long ones in turns",
    fits_lane,      estimate_castv, make_cast};

}  // namespace herald::coll
