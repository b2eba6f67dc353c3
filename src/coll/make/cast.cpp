// SPDX-License-Identifier: BSD-3-Clause
// Collectives over the lane that move data.
#include "coll/make/cast.hpp"
#include "coll/make/makers.hpp"
#include "coll/make/turns.hpp"

namespace herald::coll {
namespace {

// Barrier over the lane: each rank multicasts once; or all notify rank 0, which multicasts.
double estimate_cast_barrier(std::uint64_t, const Shape& shape) noexcept { return all_cast_ns(shape, 0); }
double estimate_gather_barrier(std::uint64_t, const Shape& shape) noexcept {
  return up_and_cast_ns(shape, 0, 0);
}

void make_cast_barrier(const CollSpec& spec, Builder& b) noexcept {
  for (int rank = 0; rank < spec.size; ++rank)
    if (rank != spec.rank) b.recv(rank, Piece{});
  b.cast(Piece{});
}

void make_gather_barrier(const CollSpec& spec, Builder& b) noexcept {
  const FanTree tree(spec.rank, spec.size);
  std::vector<StepId> below;
  for (const int child : tree.children) below.push_back(b.recv(child, Piece{}));
  if (tree.parent >= 0) b.recv(0, Piece{});
  const StepId sent_up = tree.parent >= 0 ? b.send(tree.parent, Piece{}) : b.cast(Piece{});
  for (const StepId received : below) b.depend(sent_up, received);
}

double estimate_fused_barrier(std::uint64_t, const Shape& shape) noexcept { return fused_ns(shape, 0, 0); }

void make_fused_barrier(const CollSpec& spec, Builder& b) noexcept {
  if (spec.rank != 0)
    b.contribute(Piece{}, Piece{});
  else
    b.announce(Piece{}, {b.gather(spec.size, Piece{})});
}

// Broadcast over the lane: the root sends once, for any number of hosts (paper 000).
double estimate_bcast(std::uint64_t bytes, const Shape& shape) noexcept {
  return transfer_ns(shape, 1, static_cast<double>(bytes));
}

void make_bcast(const CollSpec& spec, Builder& b) noexcept {
  const Piece data = spec.recv.range(0, 1);
  if (data.bytes == 0) return;
  if (spec.rank == spec.root)
    b.cast(data);
  else
    b.recv(spec.root, data);
}

// Allgather over the lane: each rank multicasts its block once, long blocks in turns (turns.hpp). Or rank 0
// gathers all blocks and multicasts them together; `fused` does so in a fused exchange.
double estimate_cast_allgather(std::uint64_t bytes, const Shape& shape) noexcept {
  return turns_ns(shape, static_cast<double>(bytes));
}
double estimate_castv(std::uint64_t bytes, const Shape& shape) noexcept {
  return turns_ns(shape, static_cast<double>(bytes) / shape.ranks);
}

// Also for allgatherv: every rank knows all sizes.
void make_cast_allgather(const CollSpec& spec, Builder& b) noexcept {
  std::vector<Piece> blocks;
  for (int rank = 0; rank < spec.size; ++rank) blocks.push_back(spec.recv.block(rank));
  const auto me = static_cast<std::size_t>(spec.rank);
  if (!spec.in_place) {
    const Piece from = spec.send.range(0, 1);
    b.copy(from, blocks[me]);
    blocks[me] = from;
  }
  Turns(b, spec).make(blocks, kNone);
}

double estimate_gather_allgather(std::uint64_t bytes, const Shape& shape) noexcept {
  const double each = static_cast<double>(bytes);
  return up_and_cast_ns(shape, each * (shape.ranks - 1), each * shape.ranks);
}

void make_gather_allgather(const CollSpec& spec, Builder& b) noexcept {
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

double estimate_fused_allgather(std::uint64_t bytes, const Shape& shape) noexcept {
  const double each = static_cast<double>(bytes);
  if (bytes > wire::kMaxContribution || bytes * static_cast<std::uint64_t>(shape.ranks) > wire::kMaxResult)
    return kNeverNs;
  return fused_ns(shape, each * (shape.ranks - 1), each * shape.ranks);
}

void make_fused_allgather(const CollSpec& spec, Builder& b) noexcept {
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

// Scatter and alltoall of short blocks over the lane: a rank multicasts the blocks for all others together,
// and each receiver copies its own block out.
// Receivers discard the blocks of others: more than a few packets of these cost more than separate messages.
constexpr std::uint64_t kMostBytes = 16 << 10;

double estimate_scatter(std::uint64_t bytes, const Shape& shape) noexcept {
  const std::uint64_t row = bytes * static_cast<std::uint64_t>(shape.ranks);
  return row > kMostBytes ? kNeverNs : transfer_ns(shape, 1.2, static_cast<double>(row));
}

void make_scatter(const CollSpec& spec, Builder& b) noexcept {
  if (spec.bytes == 0) return;
  if (spec.rank == spec.root) {
    b.cast(spec.send.range(0, spec.size));
    if (!spec.in_place) b.copy(spec.send.block(spec.rank), spec.recv.range(0, 1));
    return;
  }
  const Piece row = b.scratch(spec.bytes * static_cast<std::uint64_t>(spec.size));
  const StepId here = b.recv(spec.root, row);
  b.copy(bytes_of(row, spec.bytes * static_cast<std::uint64_t>(spec.rank), spec.bytes), spec.recv.range(0, 1),
         {here});
}

double estimate_alltoall(std::uint64_t bytes, const Shape& shape) noexcept {
  const std::uint64_t row = bytes * static_cast<std::uint64_t>(shape.ranks);
  if (row > kMostBytes || row * static_cast<std::uint64_t>(shape.ranks) > kCastTogether) return kNeverNs;
  return all_cast_ns(shape, static_cast<double>(row));
}

void make_alltoall(const CollSpec& spec, Builder& b) noexcept {
  if (spec.bytes == 0) return;
  const std::uint64_t bytes = spec.bytes, row = bytes * static_cast<std::uint64_t>(spec.size);
  const Piece own = (spec.in_place ? spec.recv : spec.send).range(0, spec.size);
  const Piece received = b.scratch(row * static_cast<std::uint64_t>(spec.size));
  std::vector<StepId> here;
  for (int from = 0; from < spec.size; ++from)
    if (from != spec.rank)
      here.push_back(b.recv(from, bytes_of(received, row * static_cast<std::uint64_t>(from), row)));
  const StepId cast = b.cast(own);
  for (int from = 0, k = 0; from < spec.size; ++from) {
    if (from == spec.rank) continue;
    const Piece mine = bytes_of(
        received, row * static_cast<std::uint64_t>(from) + bytes * static_cast<std::uint64_t>(spec.rank),
        bytes);
    b.copy(mine, spec.recv.block(from), {here[static_cast<std::size_t>(k++)], spec.in_place ? cast : kNone});
  }
  if (!spec.in_place) b.copy(spec.send.block(spec.rank), spec.recv.block(spec.rank));
}

constexpr Algorithm kRows[] = {
    {Op::barrier, "fused", "all contribute to one rank, which multicasts", fits_fused, estimate_fused_barrier,
     make_fused_barrier},
    {Op::barrier, "cast", "each rank multicasts once", fits_lane, estimate_cast_barrier, make_cast_barrier},
    {Op::barrier, "gather_cast", "all notify one rank, which multicasts", fits_lane, estimate_gather_barrier,
     make_gather_barrier},
    {Op::bcast, "cast", "one multicast by the root", fits_lane, estimate_bcast, make_bcast},
    {Op::allgather, "fused", "all contribute to one rank, which multicasts all blocks", fits_fused,
     estimate_fused_allgather, make_fused_allgather},
    {Op::allgather, "cast", "each rank multicasts its block, long ones in turns", fits_lane,
     estimate_cast_allgather, make_cast_allgather},
    {Op::allgather, "gather_cast", "gathered to one rank, which multicasts all blocks together", fits_lane,
     estimate_gather_allgather, make_gather_allgather},
    {Op::allgatherv, "cast", "each rank multicasts its block, long ones in turns", fits_lane, estimate_castv,
     make_cast_allgather},
    {Op::scatter, "cast", "the root multicasts all blocks together", fits_lane, estimate_scatter,
     make_scatter},
    {Op::alltoall, "cast", "each rank multicasts its blocks for all others", fits_lane, estimate_alltoall,
     make_alltoall},
};

}  // namespace

constinit const std::span<const Algorithm> kCastAlgorithms = kRows;

}  // namespace herald::coll
