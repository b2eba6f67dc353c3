// SPDX-License-Identifier: BSD-3-Clause
// Ring reduce-scatter: in each of n - 1 rounds a rank sends a block to its right neighbor and reduces its own
// contribution into the block from the left; the last one is its own. Rank order is not kept.
#include <algorithm>

#include "coll/make/makers.hpp"

namespace herald::coll {
namespace {

double estimate(std::uint64_t bytes, const Shape& shape) noexcept {
  const double others = shape.ranks - 1, part = static_cast<double>(bytes) / shape.ranks;
  return transfer_ns(shape, others, others * part) + others * part * shape.cost.reduce_byte_ns;
}

void make(const CollSpec& spec, Builder& b) noexcept {
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

bool fits(const Shape& shape) noexcept { return shape.commutes; }

constexpr const char* kText = "blocks go round a ring and are reduced on the way; keeps no rank order";

}  // namespace

const Algorithm kReduceScatterRing{Op::reduce_scatter, "ring", kText, fits, estimate, make};
const Algorithm kReduceScatterBlockRing{Op::reduce_scatter_block, "ring", kText, fits, estimate, make};

}  // namespace herald::coll
