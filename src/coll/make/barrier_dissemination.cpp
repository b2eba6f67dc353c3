// SPDX-License-Identifier: BSD-3-Clause
// Barrier by dissemination: in round k everybody tells the rank 2^k further on. After the last round each
// rank has heard, directly or not, from all.
#include "coll/make/makers.hpp"

namespace herald::coll {
namespace {

double estimate(std::uint64_t, const Shape& shape) noexcept {
  return transfer_ns(shape, log2_up(shape.ranks), 0);
}

void make(const CollSpec& ask, Builder& b) noexcept {
  StepId heard[32];
  const int rounds = log2_up(ask.size);
  for (int k = 0; k < rounds; ++k) {
    const int distance = 1 << k;
    b.round(k);
    heard[k] = b.recv((ask.rank - distance + ask.size) % ask.size, Piece{});
  }
  for (int k = 0; k < rounds; ++k) {
    b.round(k);
    const StepId send = b.send((ask.rank + (1 << k)) % ask.size, Piece{});
    for (int earlier = 0; earlier < k; ++earlier) b.also(send, heard[earlier]);
  }
}

}  // namespace

const Algorithm kBarrierDissemination{
    Op::barrier, "dissemination", "log2(n) rounds, each rank tells the one 2^k further on",
    fits_any,    estimate,        make};

}  // namespace herald::coll
