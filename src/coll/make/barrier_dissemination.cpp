// SPDX-License-Identifier: BSD-3-Clause
// Dissemination barrier: in round k each rank notifies the rank 2^k further on. After the last round each
// rank has been notified, directly or not, by all.
#include "coll/make/makers.hpp"

namespace herald::coll {
namespace {

double estimate(std::uint64_t, const Shape& shape) noexcept {
  return transfer_ns(shape, log2_up(shape.ranks), 0);
}

void make(const CollSpec& spec, Builder& b) noexcept {
  StepId received[32];
  const int rounds = log2_up(spec.size);
  for (int k = 0; k < rounds; ++k) {
    const int distance = 1 << k;
    b.round(k);
    received[k] = b.recv((spec.rank - distance + spec.size) % spec.size, Piece{});
  }
  for (int k = 0; k < rounds; ++k) {
    b.round(k);
    const StepId send = b.send((spec.rank + (1 << k)) % spec.size, Piece{});
    for (int earlier = 0; earlier < k; ++earlier) b.depend(send, received[earlier]);
  }
}

}  // namespace

const Algorithm kBarrierDissemination{
    Op::barrier, "dissemination", "log2(n) rounds, each rank notifies the one 2^k further on",
    fits_any,    estimate,        make};

}  // namespace herald::coll
