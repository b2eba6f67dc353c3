// SPDX-License-Identifier: BSD-3-Clause
// Scan by distance doubling: in round k each rank sends the fold of the 2^k ranks up to itself to the rank
// 2^k further on, and puts what comes from below in front of its own: rank order is kept. Exscan first shifts
// the contributions by one rank and then scans over the ranks but 0.
#include "coll/make/makers.hpp"

namespace herald::coll {
namespace {

double estimate_scan(std::uint64_t bytes, const Shape& shape) noexcept {
  const double rounds = log2_up(shape.ranks), size = static_cast<double>(bytes);
  return transfer_ns(shape, rounds, rounds * size) + rounds * size * shape.cost.reduce_byte_ns;
}
double estimate_exscan(std::uint64_t bytes, const Shape& shape) noexcept {
  return transfer_ns(shape, 1, static_cast<double>(bytes)) + estimate_scan(bytes, shape);
}

// Over the ranks [first, size); the contribution is in the receive buffer after `ready`.
void scan_from(const CollSpec& ask, Builder& b, int first, StepId ready) noexcept {
  const Piece acc = ask.result();
  Piece area[2];
  StepId folded = kNone, before = kNone;
  for (int distance = 1, k = 0; distance < ask.size - first; distance *= 2, ++k) {
    b.round(1 + k);
    StepId got = kNone, sent = kNone;
    Piece& in = area[k % 2];
    const bool comes = ask.rank - distance >= first;
    if (comes) {
      if (in.layout == nullptr) in = b.scratch_items(*acc.layout, acc.count);
      got = b.recv(ask.rank - distance, in, {before});
    }
    if (ask.rank + distance < ask.size) sent = b.send(ask.rank + distance, acc, {ready});
    if (!comes) continue;
    before = folded;
    folded = ready = b.reduce(in, acc, {got, ready, sent});
  }
}

void make_scan(const CollSpec& ask, Builder& b) noexcept {
  if (ask.bytes == 0) return;
  scan_from(ask, b, 0, ask.in_place ? kNone : b.copy(ask.own(), ask.result()));
}

void make_exscan(const CollSpec& ask, Builder& b) noexcept {
  if (ask.bytes == 0) return;
  Piece own = ask.own();
  StepId saved = kNone;
  b.round(0);
  const bool passes_on = ask.rank + 1 < ask.size, takes = ask.rank > 0;
  if (ask.in_place && passes_on && takes) {  // what comes from below overwrites one's own
    const Piece copy = b.scratch_items(*own.layout, own.count);
    saved = b.copy(own, copy);
    own = copy;
  }
  const StepId got = takes ? b.recv(ask.rank - 1, ask.result(), {saved}) : kNone;
  if (passes_on) b.send(ask.rank + 1, own, {saved});
  if (takes) scan_from(ask, b, 1, got);
}

}  // namespace

const Algorithm kScanDoubling{Op::scan, "doubling",    "log2(n) rounds to the rank 2^k further on",
                              fits_any, estimate_scan, make_scan};
const Algorithm kExscanDoubling{Op::exscan, "doubling",      "a shift, then log2(n) rounds",
                                fits_any,   estimate_exscan, make_exscan};

}  // namespace herald::coll
