// SPDX-License-Identifier: BSD-3-Clause
// Allreduce over the lane. Short: each rank casts its vector and reduces all of them, in the order of ranks:
// one step. Long: each rank reduces a part, which the others send it, and casts the result; parts in turn.
#include <algorithm>
#include <vector>

#include "coll/make/makers.hpp"

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
  return transfer_ns(shape, 1.5, each * (shape.ranks - 1)) + each * shape.ranks * shape.cost.reduce_byte_ns;
}

void make_short(const Ask& ask, Builder& b) noexcept {
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

double estimate_long(std::uint64_t bytes, const Shape& shape) noexcept {
  const double each = static_cast<double>(bytes);
  return transfer_ns(shape, 2 + shape.ranks * 0.5, each * 2) + each * shape.cost.reduce_byte_ns;
}

void make_long(const Ask& ask, Builder& b) noexcept {
  const Piece result = ask.result();
  const Piece own = ask.own();
  if (result.count == 0) return;
  const std::int64_t part = (result.count + ask.size - 1) / ask.size;
  const auto first = [&](int r) { return std::min(result.count, part * r); };
  const auto items = [&](const Piece& piece, int r) {
    return items_of(piece, first(r), first(r + 1) - first(r));
  };
  const std::int64_t mine = first(ask.rank + 1) - first(ask.rank);
  std::vector<Piece> all(static_cast<std::size_t>(ask.size));
  std::vector<StepId> ready(all.size(), kNone);
  const auto me = static_cast<std::size_t>(ask.rank);
  for (int i = 1; mine != 0 && i < ask.size; ++i) {
    const auto r = static_cast<std::size_t>((ask.rank + ask.size - i) % ask.size);
    all[r] = b.scratch_items(*result.layout, mine);
    ready[r] = b.recv(static_cast<int>(r), all[r]);
  }
  StepId sent = kNone;
  for (int i = 1; i < ask.size; ++i) {
    const int r = (ask.rank + i) % ask.size;
    if (first(r + 1) != first(r))
      sent = b.send(r, items(own, r), {sent});  // one after another: the link is full anyway
  }
  StepId done = kNone;
  if (mine != 0) {
    all[me] = b.scratch_items(*result.layout, mine);
    ready[me] = b.copy(items(own, ask.rank), all[me]);
    done = fold(b, all, ready, items(result, ask.rank), ready[me]);
  }
  b.round(1);
  const int at_once = casters_at_once(result.bytes / static_cast<std::uint64_t>(ask.size) + 1, ask.size);
  // In place, a part of the result lies where a part still to be sent is.
  StepId before = kNone;
  for (int r = 0; r < ask.size; ++r) {
    if (r == ask.rank || first(r + 1) == first(r)) continue;
    const StepId here = b.recv(r, items(result, r), {sent});
    if (r + at_once <= ask.rank) before = here;
  }
  if (mine != 0) b.cast(items(result, ask.rank), {done, before});
}

}  // namespace

const Algorithm kAllreduceCast{
    Op::allreduce, "cast",         "each rank multicasts its vector and reduces all of them",
    fits_lane,     estimate_short, make_short};
const Algorithm kAllreduceScatterCast{
    Op::allreduce, "scatter_cast", "each rank reduces a part and multicasts it",
    fits_lane,     estimate_long,  make_long};

}  // namespace herald::coll
