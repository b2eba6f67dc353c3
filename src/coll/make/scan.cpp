// SPDX-License-Identifier: BSD-3-Clause
// Scan and exscan by messages.
#include "coll/make/makers.hpp"

namespace herald::coll {
namespace {

// Recursive-doubling scan: in round k each rank sends the reduction of the 2^k ranks up to itself to the rank
// 2^k further on, and prepends the data it receives: rank order is kept. Exscan first shifts the
// contributions by one rank and then scans over all ranks but 0.
double estimate_scan(std::uint64_t bytes, const Shape& shape) noexcept {
  const double rounds = log2_up(shape.ranks), size = static_cast<double>(bytes);
  return transfer_ns(shape, rounds, rounds * size) + rounds * size * shape.cost.reduce_byte_ns;
}
double estimate_exscan(std::uint64_t bytes, const Shape& shape) noexcept {
  return transfer_ns(shape, 1, static_cast<double>(bytes)) + estimate_scan(bytes, shape);
}

// Over the ranks [first, size); the contribution is in the receive buffer after `ready`.
void scan_from(const CollSpec& spec, Builder& b, int first, StepId ready) noexcept {
  const Piece acc = spec.result();
  Piece area[2];
  StepId reduced = kNone, before = kNone;
  for (int distance = 1, k = 0; distance < spec.size - first; distance *= 2, ++k) {
    b.round(1 + k);
    StepId got = kNone, sent = kNone;
    Piece& in = area[k % 2];
    const bool comes = spec.rank - distance >= first;
    if (comes) {
      if (in.layout == nullptr) in = b.scratch_items(*acc.layout, acc.count);
      got = b.recv(spec.rank - distance, in, {before});
    }
    if (spec.rank + distance < spec.size) sent = b.send(spec.rank + distance, acc, {ready});
    if (!comes) continue;
    before = reduced;
    reduced = ready = b.reduce(in, acc, {got, ready, sent});
  }
}

void make_scan_doubling(const CollSpec& spec, Builder& b) noexcept {
  if (spec.bytes == 0) return;
  scan_from(spec, b, 0, spec.in_place ? kNone : b.copy(spec.own(), spec.result()));
}

void make_exscan_doubling(const CollSpec& spec, Builder& b) noexcept {
  if (spec.bytes == 0) return;
  Piece own = spec.own();
  StepId saved = kNone;
  b.round(0);
  const bool passes_on = spec.rank + 1 < spec.size, takes = spec.rank > 0;
  if (spec.in_place && passes_on && takes) {  // the received data overwrites the own contribution
    const Piece copy = b.scratch_items(*own.layout, own.count);
    saved = b.copy(own, copy);
    own = copy;
  }
  const StepId got = takes ? b.recv(spec.rank - 1, spec.result(), {saved}) : kNone;
  if (passes_on) b.send(spec.rank + 1, own, {saved});
  if (takes) scan_from(spec, b, 1, got);
}

// Linear scan along the ranks: each reduces once. Fewest bytes moved; n - 1 steps deep.
double estimate_linear(std::uint64_t bytes, const Shape& shape) noexcept {
  const double others = shape.ranks - 1, size = static_cast<double>(bytes);
  return transfer_ns(shape, others, others * size) + others * size * shape.cost.reduce_byte_ns;
}

void make_scan_linear(const CollSpec& spec, Builder& b) noexcept {
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

void make_exscan_linear(const CollSpec& spec, Builder& b) noexcept {
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

constexpr Algorithm kRows[] = {
    {Op::scan, "doubling", "log2(n) rounds to the rank 2^k further on", fits_any, estimate_scan,
     make_scan_doubling},
    {Op::exscan, "doubling", "a shift, then log2(n) rounds", fits_any, estimate_exscan, make_exscan_doubling},
    {Op::scan, "linear", "along the ranks, one after another", fits_any, estimate_linear, make_scan_linear},
    {Op::exscan, "linear", "along the ranks, one after another", fits_any, estimate_linear,
     make_exscan_linear},
};

}  // namespace

constinit const std::span<const Algorithm> kScanAlgorithms = kRows;

}  // namespace herald::coll
