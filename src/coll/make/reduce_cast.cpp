// SPDX-License-Identifier: BSD-3-Clause
// Reductions over the lane.
#include "coll/make/blocks_together.hpp"
#include "coll/make/cast.hpp"
#include "coll/make/makers.hpp"
#include "coll/make/reduce_chain.hpp"
#include "coll/make/scatter_cast.hpp"
#include "coll/make/start_signals.hpp"

namespace herald::coll {
namespace {

// Reduces up a wide tree to rank 0. Rank order is kept. Where the switch is known, as many children of a rank
// send at a time as it bears.
struct FanResult {
  Piece piece;   // rank 0: the result
  StepId ready;  // rank 0: complete; others: sent, and the contribution may be overwritten
};

// At rank 0 the result is written to `target`, if that has a layout.
FanResult reduce_fan(const CollSpec& spec, Builder& b, const Piece& own, const Piece& target) noexcept {
  const FanTree tree(spec.rank, spec.size);
  ReduceChain chain(b, own, spec.rank == 0 ? target : Piece{}, static_cast<int>(tree.children.size()));
  for (const int child : tree.children) chain.reduce_message(child);
  if (spec.rank != 0) {
    const std::vector<int> siblings = FanTree(tree.parent, spec.size).children;
    const auto rank_of = [&](int index) { return siblings[static_cast<std::size_t>(index)]; };
    const auto index = std::find(siblings.begin(), siblings.end(), spec.rank) - siblings.begin();
    const StartSignals signals(spec.measured_incast(), own.bytes, static_cast<int>(index),
                               static_cast<int>(siblings.size()), 1, rank_of);
    return {Piece{}, signals.send(b, tree.parent, chain.result(), chain.ready(), 0)};
  }
  if (target.layout == nullptr) return {chain.result(), chain.ready()};
  const StepId ready = chain.copy_to_target();
  return {target, ready};
}
double reduce_fan_ns(const Shape& shape, double bytes) noexcept {
  const int depth = FanTree::depth(shape.ranks), width = std::min(shape.ranks - 1, kFanIn);
  return depth * (shape.cost.message_ns +
                  width * (receive_ns(bytes) + bytes * (shape.cost.byte_ns + shape.cost.reduce_byte_ns)));
}

// Allreduce over the lane. Short vectors: each rank multicasts its vector and reduces all of them in rank
// order; or rank 0 reduces and multicasts the result. Long vectors: each rank reduces one part, which the
// others send to it, and multicasts the result in turns (turns.hpp).
// result = v0 op (v1 op (... op v[n-1])), with vector r in `all` at r.
StepId reduce_in_order(Builder& b, const std::vector<Piece>& all, const std::vector<StepId>& ready,
                       const Piece& result, StepId free) noexcept {
  const std::size_t last = all.size() - 1;
  StepId step = b.copy(all[last], result, {ready[last], free});
  for (std::size_t r = last; r-- > 0;) step = b.reduce(all[r], result, {step, ready[r]});
  return step;
}

double estimate_short(std::uint64_t bytes, const Shape& shape) noexcept {
  const double each = static_cast<double>(bytes);
  if (bytes * static_cast<std::uint64_t>(shape.ranks) > kCastTogether) return kNeverNs;
  return all_cast_ns(shape, each) + each * shape.ranks * shape.cost.reduce_byte_ns;
}

void make_short(const CollSpec& spec, Builder& b) noexcept {
  const Piece result = spec.result();
  if (result.count == 0) return;
  std::vector<Piece> all(static_cast<std::size_t>(spec.size));
  std::vector<StepId> ready(all.size(), kNone);
  for (std::size_t r = 0; r < all.size(); ++r) all[r] = b.scratch_items(*result.layout, result.count);
  const auto me = static_cast<std::size_t>(spec.rank);
  for (std::size_t r = 0; r < all.size(); ++r)
    if (r != me) ready[r] = b.recv(static_cast<int>(r), all[r]);
  ready[me] = b.copy(spec.own(), all[me]);
  b.cast(all[me], {ready[me]});
  reduce_in_order(b, all, ready, result, ready[me]);
}

double estimate_gather(std::uint64_t bytes, const Shape& shape) noexcept {
  return reduce_fan_ns(shape, static_cast<double>(bytes)) + transfer_ns(shape, 1, static_cast<double>(bytes));
}

void make_gather(const CollSpec& spec, Builder& b) noexcept {
  if (spec.result().count == 0) return;
  const FanResult up = reduce_fan(spec, b, spec.own(), spec.result());
  if (spec.rank == 0)
    b.cast(spec.result(), {up.ready});
  else
    b.recv(0, spec.result(), {spec.in_place ? up.ready : kNone});
}

double estimate_long(std::uint64_t bytes, const Shape& shape) noexcept {
  const double each = static_cast<double>(bytes), part = each / shape.ranks;
  return transfer_ns(shape, 2, each - part) + turns_ns(shape, part) + each * shape.cost.reduce_byte_ns;
}

void make_long(const CollSpec& spec, Builder& b) noexcept { ScatterCast(spec, b).make(); }

double estimate_fused(std::uint64_t bytes, const Shape& shape) noexcept {
  const double each = static_cast<double>(bytes);
  if (bytes > wire::kMaxContribution) return kNeverNs;
  return fused_ns(shape, each * shape.ranks, each) + each * shape.ranks * shape.cost.reduce_byte_ns;
}

void make_fused(const CollSpec& spec, Builder& b) noexcept {
  const Piece result = spec.result();
  if (result.count == 0) return;
  if (spec.rank != 0) {
    b.contribute(spec.own(), result);
    return;
  }
  const Piece all = b.scratch_items(*result.layout, result.count * spec.size);
  const StepId gathered = b.gather(spec.size, all);
  std::vector<Piece> parts;
  for (int r = 0; r < spec.size; ++r) parts.push_back(items_of(all, r * result.count, result.count));
  parts[0] = spec.own();
  // The reduction accumulates in the last part: in place, the own contribution lies in the result buffer.
  StepId step = gathered;
  for (std::size_t r = parts.size() - 1; r-- > 0;) step = b.reduce(parts[r], parts.back(), {step});
  b.announce(parts.back(), {step});
  b.copy(parts.back(), result, {step});
}

// Reduce-scatter of short vectors over the lane: rank 0 reduces and multicasts everything; each rank copies
// its part out.
double estimate_reduce_scatter(std::uint64_t bytes, const Shape& shape) noexcept {
  const double size = static_cast<double>(bytes);
  return reduce_fan_ns(shape, size) + transfer_ns(shape, 1, size) + size * shape.cost.copy_byte_ns;
}

void make_reduce_scatter(const CollSpec& spec, Builder& b) noexcept {
  if (spec.bytes == 0) return;
  const Piece own = blocks_together(spec), result = spec.result();
  const FanResult up = reduce_fan(spec, b, own, Piece{});
  Piece all = up.piece;
  StepId here = up.ready;
  if (spec.rank == 0) {
    here = b.cast(all, {up.ready});
  } else {
    all = b.scratch_items(*own.layout, own.count);
    here = b.recv(0, all);
  }
  b.copy(items_of(all, block_begin(spec, spec.rank), result.count), result, {here, up.ready});
}

constexpr const char* kTextReduceScatter =
    "reduced to one rank, which multicasts everything; each takes its part";

constexpr Algorithm kRows[] = {
    {Op::allreduce, "fused", "all contribute to one rank, which reduces and multicasts", fits_fused,
     estimate_fused, make_fused},
    {Op::allreduce, "cast", "each rank multicasts its vector and reduces all of them", fits_lane,
     estimate_short, make_short},
    {Op::allreduce, "gather_cast", "reduced to one rank, which multicasts", fits_lane, estimate_gather,
     make_gather},
    {Op::allreduce, "scatter_cast", "each rank reduces a part and multicasts it", fits_lane, estimate_long,
     make_long},
    {Op::reduce_scatter, "gather_cast", kTextReduceScatter, fits_lane, estimate_reduce_scatter,
     make_reduce_scatter},
    {Op::reduce_scatter_block, "gather_cast", kTextReduceScatter, fits_lane, estimate_reduce_scatter,
     make_reduce_scatter},
};

}  // namespace

constinit const std::span<const Algorithm> kReduceCastAlgorithms = kRows;

}  // namespace herald::coll
