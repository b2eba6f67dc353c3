// SPDX-License-Identifier: BSD-3-Clause
// Scan along the ranks, one after another: each folds once. Fewest bytes moved in all; n - 1 steps deep.
#include "coll/make/makers.hpp"

namespace herald::coll {
namespace {

double estimate(std::uint64_t bytes, const Shape& shape) noexcept {
  const double others = shape.ranks - 1, size = static_cast<double>(bytes);
  return transfer_ns(shape, others, others * size) + others * size * shape.cost.reduce_byte_ns;
}

void make_scan(const CollSpec& ask, Builder& b) noexcept {
  if (ask.bytes == 0) return;
  const Piece result = ask.result();
  StepId ready = kNone, got = kNone;
  Piece below;
  if (ask.rank > 0) {
    below = b.scratch_items(*result.layout, result.count);
    got = b.recv(ask.rank - 1, below);
  }
  if (!ask.in_place) ready = b.copy(ask.own(), result);
  if (ask.rank > 0) ready = b.reduce(below, result, {got, ready});
  if (ask.rank + 1 < ask.size) b.send(ask.rank + 1, result, {ready});
}

void make_exscan(const CollSpec& ask, Builder& b) noexcept {
  if (ask.bytes == 0) return;
  const Piece own = ask.own(), result = ask.result();
  const bool passes_on = ask.rank + 1 < ask.size;
  if (ask.rank == 0) {
    if (passes_on) b.send(1, own);
    return;
  }
  if (!passes_on) {
    b.recv(ask.rank - 1, result);
    return;
  }
  const Piece sum = b.scratch_items(*own.layout, own.count);
  StepId got = kNone;
  if (!ask.in_place) got = b.recv(ask.rank - 1, result);
  const StepId saved = b.copy(own, sum);
  if (ask.in_place) got = b.recv(ask.rank - 1, result, {saved});
  b.send(ask.rank + 1, sum, {b.reduce(result, sum, {got, saved})});
}

}  // namespace

const Algorithm kScanLinear{Op::scan, "linear", "along the ranks, one after another",
                            fits_any, estimate, make_scan};
const Algorithm kExscanLinear{Op::exscan, "linear", "along the ranks, one after another",
                              fits_any,   estimate, make_exscan};

}  // namespace herald::coll
