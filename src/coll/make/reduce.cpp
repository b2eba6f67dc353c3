// SPDX-License-Identifier: BSD-3-Clause
// Reductions to one rank by messages.
#include "coll/make/halving.hpp"
#include "coll/make/items.hpp"
#include "coll/make/makers.hpp"
#include "coll/make/power_of_two.hpp"
#include "coll/make/reduce_chain.hpp"
#include "coll/make/reduce_tree.hpp"
#include "coll/make/segments.hpp"
#include "coll/make/start_signals.hpp"

namespace herald::coll {
namespace {

// Reduce up a binomial tree. If the operation commutes the tree is rooted at the root; else at rank 0, in
// rank order, and rank 0 sends the result to the root.
double estimate_binomial(std::uint64_t bytes, const Shape& shape) noexcept {
  const double rounds = log2_up(shape.ranks), size = static_cast<double>(bytes);
  return transfer_ns(shape, rounds, rounds * size) + rounds * size * shape.cost.reduce_byte_ns;
}

void make_binomial(const CollSpec& spec, Builder& b) noexcept {
  if (spec.bytes == 0) return;
  const bool root = spec.rank == spec.root;
  const int first = spec.commutes ? spec.root : 0;
  const Piece own = spec.own(), none;
  b.round(0);
  const TreeResult tree = reduce_tree(spec, b, first, own, root && first == spec.root ? spec.result() : none);
  if (first == spec.root) {
    if (root && (tree.piece.buffer != Buffer::recv)) b.copy(tree.piece, spec.result(), {tree.ready});
    return;
  }
  b.round(1);
  if (spec.rank == first) b.send(spec.root, tree.piece, {tree.ready});
  if (root) b.recv(first, spec.result(), {spec.in_place ? tree.own_read : kNone});
}

// Linear reduce in rank order: every rank sends to the root, which reduces. For few ranks. Where the switch
// is known, as many send at a time as it bears.
double estimate_linear(std::uint64_t bytes, const Shape& shape) noexcept {
  const double others = shape.ranks - 1, size = static_cast<double>(bytes);
  return transfer_ns(shape, others, others * size) + others * size * shape.cost.reduce_byte_ns;
}

void make_linear(const CollSpec& spec, Builder& b) noexcept {
  if (spec.bytes == 0) return;
  const Piece own = spec.own();
  if (spec.rank != spec.root) {
    const auto rank_of = [&](int index) { return index < spec.root ? index : index + 1; };
    const int index = spec.rank < spec.root ? spec.rank : spec.rank - 1;
    const StartSignals signals(spec.measured_incast(), spec.bytes, index, spec.size - 1, 1, rank_of);
    signals.send(b, spec.root, own, kNone, 0);
    return;
  }
  b.window(0, kWindow);
  const Piece result = spec.result();
  // In place the root's contribution lies in the result buffer: the result is copied there at the end.
  const ReduceChain chain = reduce_in_rank_order(spec, b, own, spec.in_place ? Piece{} : result);
  const Piece sum = chain.result();
  if (sum.buffer != result.buffer || sum.offset != result.offset) b.copy(sum, result, {chain.ready()});
}

// Rabenseifner reduce for long vectors: reduce-scatter by recursive halving, then a binomial gather of the
// parts. Ranks are counted from the one after the root, so that the root is never an extra rank. Rank order
// is not kept.
double estimate_rabenseifner(std::uint64_t bytes, const Shape& shape) noexcept {
  const int places = power_below(shape.ranks);
  const double rounds = log2_up(places), size = static_cast<double>(bytes);
  const double share = static_cast<double>(places - 1) / places, aside = is_power(shape.ranks) ? 0 : 1;
  return transfer_ns(shape, 2 * rounds + aside, (2 * share + aside) * size) +
         (share + aside) * size * shape.cost.reduce_byte_ns;
}

void make_rabenseifner(const CollSpec& spec, Builder& b) noexcept {
  if (spec.bytes == 0) return;
  const int n = spec.size, u = (spec.rank - spec.root - 1 + n) % n;  // the root is n - 1
  const bool root = spec.rank == spec.root;
  const Piece own = spec.own();
  if (n == 1) {
    if (!spec.in_place) b.copy(own, spec.result());
    return;
  }
  const PowerOfTwo pof2(n);
  const auto rank_at = [&](int v) { return (v + spec.root + 1) % n; };
  const auto rank_of = [&](int place) { return rank_at(pof2.rank(place)); };
  b.round(kExtraRound);
  if (pof2.is_extra(u)) {
    b.send(rank_at(u + 1), own);
    return;
  }
  const Piece area = root ? spec.result() : b.scratch_items(*own.layout, own.count);
  StepId ready = kNone;
  bool in_area = spec.in_place;
  if (pof2.paired(u)) {
    ready = b.reduce(own, area, {b.recv(rank_at(u - 1), area)});
    in_area = true;
  }
  const ItemParts parts{own.count, pof2.places};
  Halving halving(b, parts, rank_of, own, area, in_area, ready);
  const int place = pof2.place(u), top = pof2.place(n - 1);
  halving.run(pof2.places, place);

  StepId have[kMaxRounds + 1] = {halving.ready()};
  int known = 1, round = halving.rounds();
  for (int bit = 1; bit < pof2.places; bit *= 2, ++round) {
    const int mine = place & ~(bit - 1), theirs = mine ^ bit, partner = rank_of(place ^ bit);
    b.round(round);
    if (((place ^ top) & bit) != 0) {
      const Piece out = parts.piece(area, mine, mine + bit);
      if (out.bytes == 0) return;
      const StepId sent = b.send(partner, out);
      for (int i = 0; i < known; ++i) b.depend(sent, have[i]);
      return;
    }
    const Piece in = parts.piece(area, theirs, theirs + bit);
    // The received half overwrites the half that was sent away when it was cut off.
    const StepId given = halving.sent(halving.rounds() - known);
    have[known++] = in.bytes == 0 ? kNone : b.recv(partner, in, {given});
  }
}

// Pipelined reduce of long vectors along a chain that ends at the root: each rank reduces a segment and
// forwards it while the next one arrives. Every rank receives, reduces and sends the data once. Rank order is
// not kept.
constexpr int kAreas = 4;  // segments that an inner rank has in flight

double estimate_pipeline(std::uint64_t bytes, const Shape& shape) noexcept {
  const double count = segments_of(bytes, shape), each = static_cast<double>(bytes) / count;
  const double stages = shape.ranks - 1 + count - 1;
  return pipeline_ns(bytes, shape, shape.ranks - 1, 1) + stages * each * shape.cost.reduce_byte_ns;
}

void make_pipeline(const CollSpec& spec, Builder& b) noexcept {
  if (spec.bytes == 0) return;
  const Piece own = spec.own();
  const int n = spec.size, v = spec.relative(spec.rank);
  const auto items = static_cast<std::int64_t>(segments_of(spec.bytes, spec));
  const ItemParts parts{own.count, static_cast<int>(std::min(own.count, items))};
  const bool last = v == n - 1, root = v == 0;
  if (n == 1) {
    if (!spec.in_place) b.copy(own, spec.result());
    return;
  }
  b.window(kWindow, kWindow);
  Piece area[kAreas];
  StepId sent[kAreas] = {kNone, kNone, kNone, kNone};  // at the root: reduced; then the area may be reused
  for (int i = 0; i < parts.parts; ++i) {
    const Piece mine = parts.piece(own, i, i + 1);
    b.round(i);
    if (last) {
      b.send(spec.absolute(v - 1), mine);
      continue;
    }
    StepId& free = sent[i % kAreas];
    Piece in;
    if (root && !spec.in_place) {
      in = parts.piece(spec.result(), i, i + 1);
    } else {
      Piece& one = area[i % kAreas];
      if (one.layout == nullptr) one = b.scratch_items(*own.layout, parts.count(0, 1));
      in = items_of(one, 0, mine.count);
    }
    const StepId got = b.recv(spec.absolute(v + 1), in, {root && !spec.in_place ? kNone : free});
    if (root && spec.in_place)
      free = b.reduce(in, mine, {got});
    else if (root)
      b.reduce(mine, in, {got});
    else
      free = b.send(spec.absolute(v - 1), in, {b.reduce(mine, in, {got})});
  }
}

constexpr Algorithm kRows[] = {
    {Op::reduce, "binomial", "up a binomial tree, whole messages", fits_any, estimate_binomial,
     make_binomial},
    {Op::reduce, "linear", "every rank sends to the root, which reduces in rank order", fits_any,
     estimate_linear, make_linear},
    {Op::reduce, "rabenseifner", "recursive halving, then a gather to the root; keeps no rank order",
     fits_commuting, estimate_rabenseifner, make_rabenseifner},
    {Op::reduce, "pipeline", "segments along a chain that ends at the root; keeps no rank order",
     fits_commuting, estimate_pipeline, make_pipeline},
};

}  // namespace

constinit const std::span<const Algorithm> kReduceAlgorithms = kRows;

}  // namespace herald::coll
