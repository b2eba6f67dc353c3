// SPDX-License-Identifier: BSD-3-Clause
// Allreduce over the lane. Short: each rank casts its vector and reduces all of them, in the order of ranks:
// one step; or all come together at one rank, which casts the result. Long: each rank reduces a part, which
// the others send it, and casts the result, in turns (turns.hpp).
#include "coll/make/items.hpp"
#include "coll/make/reduce_fan.hpp"
#include "coll/make/turns.hpp"

namespace herald::coll {
namespace {

// result = v0 op (v1 op (... op v[n-1])), with vector r in `all` at r.
StepId fold(Builder& b, const std::vector<Piece>& all, const std::vector<StepId>& ready, const Piece& result,
            StepId free) noexcept {
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

void make_short(const CollSpec& ask, Builder& b) noexcept {
  const Piece result = ask.result();
  if (result.count == 0) return;
  std::vector<Piece> all(static_cast<std::size_t>(ask.size));
  std::vector<StepId> ready(all.size(), kNone);
  for (std::size_t r = 0; r < all.size(); ++r) all[r] = b.scratch_items(*result.layout, result.count);
  const auto me = static_cast<std::size_t>(ask.rank);
  for (std::size_t r = 0; r < all.size(); ++r)
    if (r != me) ready[r] = b.recv(static_cast<int>(r), all[r]);
  ready[me] = b.copy(ask.own(), all[me]);
  b.cast(all[me], {ready[me]});
  fold(b, all, ready, result, ready[me]);
}

double estimate_gather(std::uint64_t bytes, const Shape& shape) noexcept {
  return reduce_fan_ns(shape, static_cast<double>(bytes)) + transfer_ns(shape, 1, static_cast<double>(bytes));
}

void make_gather(const CollSpec& ask, Builder& b) noexcept {
  if (ask.result().count == 0) return;
  const FanResult up = reduce_fan(ask, b, ask.own(), ask.result());
  if (ask.rank == 0)
    b.cast(ask.result(), {up.ready});
  else
    b.recv(0, ask.result(), {ask.in_place ? up.ready : kNone});
}

double estimate_long(std::uint64_t bytes, const Shape& shape) noexcept {
  const double each = static_cast<double>(bytes), part = each / shape.ranks;
  return transfer_ns(shape, 2, each - part) + turns_ns(shape, part) + each * shape.cost.reduce_byte_ns;
}

void make_long(const CollSpec& ask, Builder& b) noexcept {
  const Piece result = ask.result(), own = ask.own();
  if (result.count == 0) return;
  const ItemParts parts{result.count, ask.size};
  const auto part = [&](const Piece& piece, int r) { return parts.piece(piece, r, r + 1); };
  const std::int64_t mine = parts.count(ask.rank, ask.rank + 1);
  std::vector<Piece> all(static_cast<std::size_t>(ask.size));
  std::vector<StepId> ready(all.size(), kNone);
  const auto me = static_cast<std::size_t>(ask.rank);
  for (int i = 1; mine != 0 && i < ask.size; ++i) {
    const auto r = static_cast<std::size_t>(from_in_round(ask.rank, i, ask.size));
    all[r] = b.scratch_items(*result.layout, mine);
    ready[r] = b.recv(static_cast<int>(r), all[r]);
  }
  // One after another as long as the link is full that way.
  std::vector<StepId> sent(all.size(), kNone);
  StepId last = kNone;
  for (int i = 1; i < ask.size; ++i) {
    const int r = to_in_round(ask.rank, i, ask.size);
    if (parts.count(r, r + 1) == 0) continue;
    const Piece out = part(own, r);
    last = sent[static_cast<std::size_t>(r)] = b.send(r, out, {out.bytes > kPushedFar ? kNone : last});
  }
  StepId done = kNone;
  if (mine != 0) {
    all[me] = b.scratch_items(*result.layout, mine);
    ready[me] = b.copy(part(own, ask.rank), all[me]);
    done = fold(b, all, ready, part(result, ask.rank), ready[me]);
  }
  b.round(1);
  std::vector<Piece> blocks;
  for (int r = 0; r < ask.size; ++r) blocks.push_back(part(result, r));
  // In place, a part of the result lies where a part still to be sent is.
  if (!ask.in_place) sent.clear();
  Turns(b, ask.rank, blocks, done, sent).make();
}

double estimate_fused(std::uint64_t bytes, const Shape& shape) noexcept {
  const double each = static_cast<double>(bytes);
  if (bytes > wire::kMaxContribution) return kNeverNs;
  return fused_ns(shape, each * shape.ranks, each) + each * shape.ranks * shape.cost.reduce_byte_ns;
}

void make_fused(const CollSpec& ask, Builder& b) noexcept {
  const Piece result = ask.result();
  if (result.count == 0) return;
  if (ask.rank != 0) {
    b.report(ask.own(), result);
    return;
  }
  const Piece all = b.scratch_items(*result.layout, result.count * ask.size);
  const StepId come = b.collect(ask.size, all);
  std::vector<Piece> parts;
  for (int r = 0; r < ask.size; ++r) parts.push_back(items_of(all, r * result.count, result.count));
  parts[0] = ask.own();
  // The result comes together where the last part is: in place, our own is where it goes.
  StepId step = come;
  for (std::size_t r = parts.size() - 1; r-- > 0;) step = b.reduce(parts[r], parts.back(), {step});
  b.tell(parts.back(), {step});
  b.copy(parts.back(), result, {step});
}

}  // namespace

const Algorithm kAllreduceFused{
    Op::allreduce, "fused",        "all report to one, which reduces and tells all",
    fits_fused,    estimate_fused, make_fused};
const Algorithm kAllreduceCast{
    Op::allreduce, "cast",         "each rank multicasts its vector and reduces all of them",
    fits_lane,     estimate_short, make_short};
const Algorithm kAllreduceGatherCast{Op::allreduce, "gather_cast",   "reduced to one rank, which multicasts",
                                     fits_lane,     estimate_gather, make_gather};
const Algorithm kAllreduceScatterCast{
    Op::allreduce, "scatter_cast", "each rank reduces a part and multicasts it",
    fits_lane,     estimate_long,  make_long};

}  // namespace herald::coll
