// SPDX-License-Identifier: BSD-3-Clause
// Broadcast down a binomial tree: the farthest child first, because it has the most to pass on.
#include "coll/make/makers.hpp"

namespace herald::coll {
namespace {

double estimate(std::uint64_t bytes, const Shape& shape) noexcept {
  const int rounds = log2_up(shape.ranks);
  return transfer_ns(shape, rounds, rounds * static_cast<double>(bytes));
}

void make(const CollSpec& ask, Builder& b) noexcept {
  const Piece data = ask.recv.range(0, 1);
  if (data.bytes == 0) return;
  const int v = ask.relative(ask.rank);
  StepId have = kNone;
  int span = 1;  // ranks [v, v + span) hang on this one
  while (span < ask.size && (v & span) == 0) span *= 2;
  if (v != 0) have = b.recv(ask.absolute(v - span), data);
  for (int distance = span / 2; distance > 0; distance /= 2)
    if (v + distance < ask.size) b.send(ask.absolute(v + distance), data, {have});
}

}  // namespace

const Algorithm kBcastBinomial{Op::bcast, "binomial", "a binomial tree, whole messages",
                               fits_any,  estimate,   make};

}  // namespace herald::coll
