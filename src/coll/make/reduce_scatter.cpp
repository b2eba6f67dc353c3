// SPDX-License-Identifier: BSD-3-Clause
// Reduce-scatter by messages.
#include <algorithm>
#include <vector>

#include "coll/make/blocks_together.hpp"
#include "coll/make/halving.hpp"
#include "coll/make/makers.hpp"
#include "coll/make/power_of_two.hpp"
#include "coll/make/reduce_chain.hpp"
#include "coll/make/reduce_tree.hpp"

namespace herald::coll {
namespace {

// Reduce-scatter of short vectors: reduce everything to rank 0 up a tree, in rank order, then scatter.
double estimate_tree(std::uint64_t bytes, const Shape& shape) noexcept {
  const double rounds = log2_up(shape.ranks), size = static_cast<double>(bytes), others = shape.ranks - 1;
  return transfer_ns(shape, rounds + 0.5 * others, (rounds + 1) * size) +
         rounds * size * shape.cost.reduce_byte_ns;
}

void make_tree(const CollSpec& spec, Builder& b) noexcept {
  if (spec.bytes == 0) return;
  const int n = spec.size;
  const Piece result = spec.result();
  b.round(0);
  const TreeResult tree = reduce_tree(spec, b, 0, blocks_together(spec), Piece{});
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

constexpr const char* kTextTree = "reduce to rank 0 up a tree, then scatter";

// Pairwise reduce-scatter: in round k every rank sends its contribution to the block of the rank k further
// on, and reduces the data it receives into its own block. Rank order is not kept.
double estimate_pairwise(std::uint64_t bytes, const Shape& shape) noexcept {
  const double others = shape.ranks - 1, part = static_cast<double>(bytes) / shape.ranks;
  return transfer_ns(shape, others, others * part) + others * part * shape.cost.reduce_byte_ns;
}

void make_pairwise(const CollSpec& spec, Builder& b) noexcept {
  const int n = spec.size;
  const Piece own = spec.send.block(spec.rank), result = spec.result();
  b.window(kWindow, kWindow);
  // In place the result overwrites the input, so it is copied there at the end.
  ReduceChain chain(b, own, spec.in_place ? Piece{} : result, own.bytes == 0 ? 0 : n - 1);
  std::vector<StepId> sent;
  for (int k = 1; k < n; ++k) {
    const int to = (spec.rank + k) % n, from = (spec.rank - k + n) % n;
    if (own.bytes != 0) chain.reduce_message(from);
    const Piece gone = spec.send.block(to);
    if (gone.bytes != 0) sent.push_back(b.send(to, gone));
  }
  if (chain.result().buffer == result.buffer && chain.result().offset == result.offset) return;
  const StepId copied = b.copy(chain.result(), result, {chain.ready()});
  if (spec.in_place)
    for (StepId step : sent) b.depend(copied, step);
}

constexpr const char* kTextPairwise = "directly between each pair of ranks; keeps no rank order";

// Reduce-scatter by recursive halving: log2(n) rounds, each with half of the data of the one before. If n is
// no power of two, each extra rank sends its data to its partner, which sends it its block at the end. Rank
// order is not kept.
double estimate_halving(std::uint64_t bytes, const Shape& shape) noexcept {
  const int places = power_below(shape.ranks);
  const double rounds = log2_up(places), size = static_cast<double>(bytes);
  const double share = static_cast<double>(places - 1) / places, aside = is_power(shape.ranks) ? 0 : 1;
  return transfer_ns(shape, rounds + 2 * aside, (share + aside) * size) +
         (share + aside) * size * shape.cost.reduce_byte_ns + size / shape.ranks * shape.cost.copy_byte_ns;
}

// The part of a place: the block of one rank, or of two.
struct PlaceParts {
  const CollSpec& spec;
  const PowerOfTwo& pof2;

  std::int64_t at(int place) const noexcept {
    return block_begin(spec, place < pof2.pairs ? 2 * place : place + pof2.pairs);
  }
  Piece piece(const Piece& whole, int begin, int end) const noexcept {
    return items_of(whole, at(begin), at(end) - at(begin));
  }
};

void make_halving(const CollSpec& spec, Builder& b) noexcept {
  if (spec.bytes == 0) return;
  const PowerOfTwo pof2(spec.size);
  const Piece own = blocks_together(spec), result = spec.result();
  if (spec.size == 1) {
    if (!spec.in_place) b.copy(own, result);
    return;
  }
  if (pof2.is_extra(spec.rank)) {
    b.round(kExtraRound);
    const StepId sent = b.send(spec.rank + 1, own);
    b.round(kResultRound);
    if (result.bytes != 0) b.recv(spec.rank + 1, result, {spec.in_place ? sent : kNone});
    return;
  }
  const Piece area = b.scratch_items(*own.layout, own.count);
  StepId ready = kNone;
  const bool paired = pof2.paired(spec.rank);
  if (paired) {
    b.round(kExtraRound);
    ready = b.reduce(own, area, {b.recv(spec.rank - 1, area)});
  }
  const PlaceParts parts{spec, pof2};
  const auto rank_of = [&](int place) { return pof2.rank(place); };
  Halving halving(b, parts, rank_of, own, area, paired, ready);
  halving.run(pof2.places, pof2.place(spec.rank));
  const auto block = [&](int rank) {
    const std::int64_t at = block_begin(spec, rank);
    return items_of(area, at, block_begin(spec, rank + 1) - at);
  };
  if (paired && block(spec.rank - 1).bytes != 0) {
    b.round(kResultRound);
    b.send(spec.rank - 1, block(spec.rank - 1), {halving.ready()});
  }
  // In place the result overwrites the input, which was sent in the first round.
  const StepId copied = b.copy(block(spec.rank), result, {halving.ready()});
  if (spec.in_place && halving.rounds() > 0) b.depend(copied, halving.sent(0));
}

constexpr const char* kTextHalving = "recursive halving; keeps no rank order";

// Ring reduce-scatter: in each of n - 1 rounds a rank sends a block to its right neighbor and reduces its own
// contribution into the block from the left; the last one is its own. Rank order is not kept.
double estimate_ring(std::uint64_t bytes, const Shape& shape) noexcept {
  const double others = shape.ranks - 1, part = static_cast<double>(bytes) / shape.ranks;
  return transfer_ns(shape, others, others * part) + others * part * shape.cost.reduce_byte_ns;
}

void make_ring(const CollSpec& spec, Builder& b) noexcept {
  if (spec.bytes == 0) return;
  const int n = spec.size, right = (spec.rank + 1) % n, left = (spec.rank - 1 + n) % n;
  const Piece result = spec.result();
  if (n == 1) {
    if (!spec.in_place) b.copy(spec.send.block(0), result);
    return;
  }
  std::int64_t largest = 0;
  for (int i = 0; i < n; ++i) largest = std::max(largest, spec.send.block(i).count);
  const type::Layout& layout = *spec.send.block(0).layout;
  Piece area[2] = {b.scratch_items(layout, largest), b.scratch_items(layout, largest)};
  StepId area_free[2] = {kNone, kNone};  // when the sum there has been sent
  StepId reduced = kNone, first_sent = kNone;
  Piece sum;
  for (int k = 0; k < n - 1; ++k) {
    const int in = (spec.rank - k - 2 + 2 * n) % n;
    const Piece mine = spec.send.block(in);
    const Piece out = k == 0 ? spec.send.block(left) : sum;
    const bool lands = k == n - 2 && !spec.in_place;
    const Piece arrives = lands ? result : items_of(area[k % 2], 0, mine.count);
    b.round(k);
    const StepId got = mine.bytes == 0 ? kNone : b.recv(left, arrives, {lands ? kNone : area_free[k % 2]});
    if (out.bytes != 0) (k == 0 ? first_sent : area_free[(k - 1) % 2]) = b.send(right, out, {reduced});
    const StepId step = b.reduce(mine, arrives, {got, reduced});
    if (step != kNone) reduced = step;
    sum = arrives;
  }
  if (spec.in_place) b.copy(sum, result, {reduced, first_sent});
}

constexpr const char* kTextRing = "blocks go round a ring and are reduced on the way; keeps no rank order";

// Direct reduce-scatter that keeps rank order: every rank sends its contributions to rank 0, 1, 2 ... and
// reduces those it receives from rank 0, 1, 2 ... Windows are safe because both sides go upward.
// All ranks send to the same rank at the same time: the start-up does not overlap.
double estimate_ordered(std::uint64_t bytes, const Shape& shape) noexcept {
  const double others = shape.ranks - 1, part = static_cast<double>(bytes) / shape.ranks;
  return transfer_ns(shape, 2 * others, others * part) + others * part * shape.cost.reduce_byte_ns;
}

void make_ordered(const CollSpec& spec, Builder& b) noexcept {
  const Piece own = spec.send.block(spec.rank), result = spec.result();
  b.window(kWindow, kWindow);
  Piece there = result;
  StepId ready = kNone;
  if (own.bytes != 0) {
    // In place the result overwrites the input, so it is copied there at the end.
    const ReduceChain chain = reduce_in_rank_order(spec, b, own, spec.in_place ? Piece{} : result);
    there = chain.result();
    ready = chain.ready();
  }
  std::vector<StepId> sent;
  for (int to = 0; to < spec.size; ++to) {
    const Piece gone = spec.send.block(to);
    if (to != spec.rank && gone.bytes != 0) sent.push_back(b.send(to, gone));
  }
  if (there.buffer == result.buffer && there.offset == result.offset) return;
  const StepId copied = b.copy(there, result, {ready});
  if (spec.in_place)
    for (StepId step : sent) b.depend(copied, step);
}

constexpr const char* kTextOrdered = "directly between each pair of ranks, in rank order";

constexpr Algorithm kRows[] = {
    {Op::reduce_scatter, "tree", kTextTree, fits_any, estimate_tree, make_tree},
    {Op::reduce_scatter_block, "tree", kTextTree, fits_any, estimate_tree, make_tree},
    {Op::reduce_scatter, "pairwise", kTextPairwise, fits_commuting, estimate_pairwise, make_pairwise},
    {Op::reduce_scatter_block, "pairwise", kTextPairwise, fits_commuting, estimate_pairwise, make_pairwise},
    {Op::reduce_scatter, "halving", kTextHalving, fits_commuting, estimate_halving, make_halving},
    {Op::reduce_scatter_block, "halving", kTextHalving, fits_commuting, estimate_halving, make_halving},
    {Op::reduce_scatter, "ring", kTextRing, fits_commuting, estimate_ring, make_ring},
    {Op::reduce_scatter_block, "ring", kTextRing, fits_commuting, estimate_ring, make_ring},
    {Op::reduce_scatter, "ordered", kTextOrdered, fits_any, estimate_ordered, make_ordered},
    {Op::reduce_scatter_block, "ordered", kTextOrdered, fits_any, estimate_ordered, make_ordered},
};

}  // namespace

constinit const std::span<const Algorithm> kReduceScatterAlgorithms = kRows;

}  // namespace herald::coll
