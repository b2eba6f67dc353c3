// SPDX-License-Identifier: BSD-3-Clause
// Broadcast of data of medium length: a binomial scatter of n parts, then a recursive-doubling allgather: 2
// log2(n) messages. Parts that a rank still has from the scatter are not sent to it again.
#include "coll/make/byte_parts.hpp"
#include "coll/make/makers.hpp"

namespace herald::coll {
namespace {

double estimate(std::uint64_t bytes, const Shape& shape) noexcept {
  const double n = shape.ranks, rounds = log2_up(shape.ranks);
  return transfer_ns(shape, 2 * rounds, 2.0 * static_cast<double>(bytes) * (n - 1) / n);
}

void make(const CollSpec& spec, Builder& b) noexcept {
  const Piece data = spec.recv.range(0, 1);
  const int n = spec.size, v = spec.relative(spec.rank);
  const ByteParts parts(n, data.bytes);
  StepId have[kMaxRounds + 1];  // dependencies of this rank's sends
  int known = 0;
  b.round(0);
  if (v != 0 && !parts.empty(v, parts.end(v)))
    have[known++] = b.recv(spec.absolute(parts.tree.parent(v)), parts.piece(data, v, parts.end(v)));
  const StepId mine = known == 0 ? kNone : have[0];
  for (int distance = parts.tree.span(v) / 2; distance > 0; distance /= 2)
    if (!parts.empty(v + distance, parts.end(v + distance)))
      b.send(spec.absolute(v + distance), parts.piece(data, v + distance, parts.end(v + distance)), {mine});

  for (int distance = 1, round = 1; distance < n; distance *= 2, ++round) {
    const int ours = v & ~(distance - 1), theirs = ours ^ distance, partner = spec.absolute(v ^ distance);
    StepId got = kNone;
    b.round(round);
    // The first rank of a group has had all of the group's parts since the scatter.
    if (!parts.has(v, theirs) && !parts.empty(theirs, theirs + distance))
      got = b.recv(partner, parts.piece(data, theirs, theirs + distance));
    if (!parts.has(v ^ distance, ours) && !parts.empty(ours, ours + distance)) {
      const StepId sent = b.send(partner, parts.piece(data, ours, ours + distance));
      for (int i = 0; i < known; ++i) b.depend(sent, have[i]);
    }
    have[known++] = got;
  }
}

bool fits(const Shape& shape) noexcept { return shape.ranks > 2 && is_power(shape.ranks); }

}  // namespace

const Algorithm kBcastScatterDoubling{
    Op::bcast, "scatter_doubling", "scatter down a tree, recursive doubling; powers of two only",
    fits,      estimate,           make};

}  // namespace herald::coll
