// SPDX-License-Identifier: BSD-3-Clause
// Reduce-scatter of short vectors: reduce everything to rank 0 up a tree, in rank order, then scatter.
#include "coll/make/makers.hpp"
#include "coll/make/reduce_tree.hpp"

namespace herald::coll {
namespace {

double estimate(std::uint64_t bytes, const Shape& shape) noexcept {
  const double rounds = log2_up(shape.ranks), size = static_cast<double>(bytes), others = shape.ranks - 1;
  return transfer_ns(shape, rounds + 0.5 * others, (rounds + 1) * size) +
         rounds * size * shape.cost.reduce_byte_ns;
}

void make(const CollSpec& spec, Builder& b) noexcept {
  if (spec.bytes == 0) return;
  const int n = spec.size;
  const Piece last = spec.send.block(n - 1), first = spec.send.block(0), result = spec.result();
  // The blocks are contiguous: together they are one run of items.
  Piece all = first;
  const auto items = static_cast<std::int64_t>(spec.bytes / static_cast<std::uint64_t>(last.layout->size()));
  all = items_of(all, 0, items);
  b.round(0);
  const TreeResult tree = reduce_tree(spec, b, 0, all, Piece{});
  b.round(1);
  if (spec.rank != 0) {
    if (result.bytes != 0) b.recv(0, result, {spec.in_place ? tree.own_read : kNone});
    return;
  }
  std::int64_t at = 0;
  for (int to = 0; to < n; ++to) {
    const Piece block = items_of(tree.piece, at, spec.send.block(to).count);
    at += block.count;
    if (block.bytes == 0) continue;
    if (to != 0)
      b.send(to, block, {tree.ready});
    else if (n != 1 || !spec.in_place)
      b.copy(block, result, {tree.ready});
  }
}

constexpr const char* kText = "reduce to rank 0 up a tree, then scatter";

}  // namespace

const Algorithm kReduceScatterTree{Op::reduce_scatter, "tree", kText, fits_any, estimate, make};
const Algorithm kReduceScatterBlockTree{Op::reduce_scatter_block, "tree", kText, fits_any, estimate, make};

}  // namespace herald::coll
