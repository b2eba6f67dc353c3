// SPDX-License-Identifier: BSD-3-Clause
// Ring allreduce for long vectors and any number of ranks: n - 1 rounds of reduce-scatter, then n - 1 rounds
// of allgather. Rank order is not kept.
#include <vector>

#include "coll/make/items.hpp"
#include "coll/make/makers.hpp"

namespace herald::coll {
namespace {

double estimate(std::uint64_t bytes, const Shape& shape) noexcept {
  const double others = shape.ranks - 1, part = static_cast<double>(bytes) / shape.ranks;
  return transfer_ns(shape, 2 * others, 2 * others * part) + others * part * shape.cost.reduce_byte_ns;
}

void make(const CollSpec& spec, Builder& b) noexcept {
  if (spec.bytes == 0) return;
  const int n = spec.size, right = (spec.rank + 1) % n, left = (spec.rank - 1 + n) % n;
  const ItemParts parts{spec.recv.count, n};
  const Piece own = spec.own(), result = spec.result();
  const auto part = [&](const Piece& whole, int i) { return parts.piece(whole, i, i + 1); };
  if (n == 1) {
    if (!spec.in_place) b.copy(own, result);
    return;
  }
  b.window(kWindow, kWindow);
  Piece area[2];  // only if the contribution lies in the result buffer
  if (spec.in_place)
    for (Piece& one : area) one = b.scratch_items(*result.layout, parts.count(0, 1));

  std::vector<StepId> sent(static_cast<std::size_t>(n), kNone);  // by part
  StepId reduced = kNone;                                        // the last reduction
  StepId area_free[2] = {kNone, kNone};                          // the last reduction that read it
  for (int k = 0; k < n - 1; ++k) {
    const int out = (spec.rank - k + n) % n, in = (spec.rank - k - 1 + n) % n;
    b.round(k);
    const Piece mine = part(own, in), sum = part(result, in);
    const Piece arrives = spec.in_place ? items_of(area[k % 2], 0, sum.count) : sum;
    StepId got = kNone;
    if (sum.bytes != 0) got = b.recv(left, arrives, {area_free[k % 2]});
    const Piece gone = part(k == 0 ? own : result, out);
    if (gone.bytes != 0) sent[static_cast<std::size_t>(out)] = b.send(right, gone, {reduced});
    if (sum.bytes == 0) continue;
    reduced = spec.in_place ? b.reduce(arrives, sum, {got, reduced}) : b.reduce(mine, sum, {got, reduced});
    if (spec.in_place) area_free[k % 2] = reduced;
  }
  StepId have = reduced;
  for (int k = 0; k < n - 1; ++k) {
    const int out = (spec.rank + 1 - k + n) % n, in = (spec.rank - k + n) % n;
    b.round(n - 1 + k);
    const Piece arrives = part(result, in), gone = part(result, out);
    // The received part overwrites the partial sum that was sent in the first half.
    const StepId got =
        arrives.bytes == 0 ? kNone : b.recv(left, arrives, {sent[static_cast<std::size_t>(in)]});
    if (gone.bytes != 0) b.send(right, gone, {have});
    have = got;
  }
}

bool fits(const Shape& shape) noexcept { return shape.commutes; }

}  // namespace

const Algorithm kAllreduceRing{Op::allreduce, "ring",   "parts go round a ring twice; keeps no rank order",
                               fits,          estimate, make};

}  // namespace herald::coll
