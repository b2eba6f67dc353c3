// SPDX-License-Identifier: BSD-3-Clause
// Broadcast down a binomial tree: the farthest child first, because it has the largest subtree.
#include "coll/make/makers.hpp"

namespace herald::coll {
namespace {

double estimate(std::uint64_t bytes, const Shape& shape) noexcept {
  const int rounds = log2_up(shape.ranks);
  return transfer_ns(shape, rounds, rounds * static_cast<double>(bytes));
}

void make(const CollSpec& spec, Builder& b) noexcept {
  const Piece data = spec.recv.range(0, 1);
  if (data.bytes == 0) return;
  const int v = spec.relative(spec.rank);
  StepId have = kNone;
  int span = 1;  // ranks [v, v + span) are the subtree of this one
  while (span < spec.size && (v & span) == 0) span *= 2;
  if (v != 0) have = b.recv(spec.absolute(v - span), data);
  for (int distance = span / 2; distance > 0; distance /= 2)
    if (v + distance < spec.size) b.send(spec.absolute(v + distance), data, {have});
}

}  // namespace

const Algorithm kBcastBinomial{Op::bcast, "binomial", "a binomial tree, whole messages",
                               fits_any,  estimate,   make};

}  // namespace herald::coll
