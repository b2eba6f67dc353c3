// SPDX-License-Identifier: BSD-3-Clause
// Allgather over the lane: each rank multicasts its block once, long blocks in turns (turns.hpp). Or rank 0
// gathers all blocks and multicasts them together; `fused` does so in a fused exchange.
#include "coll/make/turns.hpp"

namespace herald::coll {
namespace {

double estimate_cast(std::uint64_t bytes, const Shape& shape) noexcept {
  return turns_ns(shape, static_cast<double>(bytes));
}
double estimate_castv(std::uint64_t bytes, const Shape& shape) noexcept {
  return turns_ns(shape, static_cast<double>(bytes) / shape.ranks);
}

// Also for allgatherv: every rank knows all sizes.
void make_cast(const CollSpec& spec, Builder& b) noexcept {
  std::vector<Piece> blocks;
  for (int rank = 0; rank < spec.size; ++rank) blocks.push_back(spec.recv.block(rank));
  const auto me = static_cast<std::size_t>(spec.rank);
  if (!spec.in_place) {
    const Piece from = spec.send.range(0, 1);
    b.copy(from, blocks[me]);
    blocks[me] = from;
  }
  Turns(b, spec.rank, blocks, kNone).make();
}

double estimate_gather(std::uint64_t bytes, const Shape& shape) noexcept {
  const double each = static_cast<double>(bytes);
  return up_and_cast_ns(shape, each * (shape.ranks - 1), each * shape.ranks);
}

void make_gather(const CollSpec& spec, Builder& b) noexcept {
  if (spec.bytes == 0) return;
  const FanTree tree(spec.rank, spec.size);
  const StepId own = spec.in_place ? kNone : b.copy(spec.send.range(0, 1), spec.recv.block(spec.rank));
  std::vector<StepId> below;
  for (const int child : tree.children)
    below.push_back(b.recv(child, spec.recv.range(child, FanTree(child, spec.size).end)));
  const Piece mine = spec.recv.range(spec.rank, tree.end), all = spec.recv.range(0, spec.size);
  const StepId sent_up = tree.parent >= 0 ? b.send(tree.parent, mine, {own}) : b.cast(all, {own});
  for (const StepId received : below) b.depend(sent_up, received);
  if (tree.parent >= 0) b.recv(0, all, {sent_up});
}

double estimate_fused(std::uint64_t bytes, const Shape& shape) noexcept {
  const double each = static_cast<double>(bytes);
  if (bytes > wire::kMaxContribution || bytes * static_cast<std::uint64_t>(shape.ranks) > wire::kMaxResult)
    return kNeverNs;
  return fused_ns(shape, each * (shape.ranks - 1), each * shape.ranks);
}

void make_fused(const CollSpec& spec, Builder& b) noexcept {
  if (spec.bytes == 0) return;
  const Piece own = spec.in_place ? spec.recv.block(spec.rank) : spec.send.range(0, 1),
              all = spec.recv.range(0, spec.size);
  if (spec.rank != 0) {
    b.contribute(own, all);
    return;
  }
  const StepId copied = spec.in_place ? kNone : b.copy(own, spec.recv.block(0));
  b.announce(all, {b.gather(spec.size, all), copied});
}

}  // namespace

const Algorithm kAllgatherFused{
    Op::allgather, "fused",        "all contribute to one rank, which multicasts all blocks",
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
