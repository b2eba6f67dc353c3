// SPDX-License-Identifier: BSD-3-Clause
// Linear scan along the ranks: each reduces once. Fewest bytes moved; n - 1 steps deep.
#include "coll/make/makers.hpp"

namespace herald::coll {
namespace {

double estimate(std::uint64_t bytes, const Shape& shape) noexcept {
  const double others = shape.ranks - 1, size = static_cast<double>(bytes);
  return transfer_ns(shape, others, others * size) + others * size * shape.cost.reduce_byte_ns;
}

void make_scan(const CollSpec& spec, Builder& b) noexcept {
  if (spec.bytes == 0) return;
  const Piece result = spec.result();
  StepId ready = kNone, got = kNone;
  Piece below;
  if (spec.rank > 0) {
    below = b.scratch_items(*result.layout, result.count);
    got = b.recv(spec.rank - 1, below);
  }
  if (!spec.in_place) ready = b.copy(spec.own(), result);
  if (spec.rank > 0) ready = b.reduce(below, result, {got, ready});
  if (spec.rank + 1 < spec.size) b.send(spec.rank + 1, result, {ready});
}

void make_exscan(const CollSpec& spec, Builder& b) noexcept {
  if (spec.bytes == 0) return;
  const Piece own = spec.own(), result = spec.result();
  const bool passes_on = spec.rank + 1 < spec.size;
  if (spec.rank == 0) {
    if (passes_on) b.send(1, own);
    return;
  }
  if (!passes_on) {
    b.recv(spec.rank - 1, result);
    return;
  }
  const Piece sum = b.scratch_items(*own.layout, own.count);
  StepId got = kNone;
  if (!spec.in_place) got = b.recv(spec.rank - 1, result);
  const StepId saved = b.copy(own, sum);
  if (spec.in_place) got = b.recv(spec.rank - 1, result, {saved});
  b.send(spec.rank + 1, sum, {b.reduce(result, sum, {got, saved})});
}

}  // namespace

const Algorithm kScanLinear{Op::scan, "linear", "along the ranks, one after another",
                            fits_any, estimate, make_scan};
const Algorithm kExscanLinear{Op::exscan, "linear", "along the ranks, one after another",
                              fits_any,   estimate, make_exscan};

}  // namespace herald::coll
