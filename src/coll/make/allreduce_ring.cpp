// SPDX-License-Identifier: BSD-3-Clause
// Allreduce of much data round a ring, for any number of ranks: n - 1 rounds in which each part collects the
// contributions of all ranks, then n - 1 rounds in which the finished parts go round. The order of ranks is
// not kept.
#include <vector>

#include "coll/make/items.hpp"
#include "coll/make/makers.hpp"

namespace herald::coll {
namespace {

double estimate(std::uint64_t bytes, const Shape& shape) noexcept {
  const double others = shape.ranks - 1, part = static_cast<double>(bytes) / shape.ranks;
  return transfer_ns(shape, 2 * others, 2 * others * part) + others * part * shape.cost.reduce_byte_ns;
}

void make(const CollSpec& ask, Builder& b) noexcept {
  if (ask.bytes == 0) return;
  const int n = ask.size, right = (ask.rank + 1) % n, left = (ask.rank - 1 + n) % n;
  const ItemParts parts{ask.recv.count, n};
  const Piece own = ask.own(), result = ask.result();
  const auto part = [&](const Piece& whole, int i) { return parts.piece(whole, i, i + 1); };
  if (n == 1) {
    if (!ask.in_place) b.copy(own, result);
    return;
  }
  b.window(kWindow, kWindow);
  Piece area[2];  // only if the contribution is where the result goes
  if (ask.in_place)
    for (Piece& one : area) one = b.scratch_items(*result.layout, parts.count(0, 1));

  std::vector<StepId> sent(static_cast<std::size_t>(n), kNone);  // by part
  StepId folded = kNone;                                         // the last fold
  StepId area_free[2] = {kNone, kNone};                          // the last fold that read it
  for (int k = 0; k < n - 1; ++k) {
    const int out = (ask.rank - k + n) % n, in = (ask.rank - k - 1 + n) % n;
    b.round(k);
    const Piece mine = part(own, in), sum = part(result, in);
    const Piece arrives = ask.in_place ? items_of(area[k % 2], 0, sum.count) : sum;
    StepId got = kNone;
    if (sum.bytes != 0) got = b.recv(left, arrives, {area_free[k % 2]});
    const Piece gone = part(k == 0 ? own : result, out);
    if (gone.bytes != 0) sent[static_cast<std::size_t>(out)] = b.send(right, gone, {folded});
    if (sum.bytes == 0) continue;
    folded = ask.in_place ? b.reduce(arrives, sum, {got, folded}) : b.reduce(mine, sum, {got, folded});
    if (ask.in_place) area_free[k % 2] = folded;
  }
  StepId have = folded;
  for (int k = 0; k < n - 1; ++k) {
    const int out = (ask.rank + 1 - k + n) % n, in = (ask.rank - k + n) % n;
    b.round(n - 1 + k);
    const Piece arrives = part(result, in), gone = part(result, out);
    // The part that comes was sent on in the first half, and is overwritten now.
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
