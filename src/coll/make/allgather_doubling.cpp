// SPDX-License-Identifier: BSD-3-Clause
// Recursive-doubling allgather: in round k pairs of ranks 2^k apart exchange all blocks that they have.
#include "coll/make/makers.hpp"

namespace herald::coll {
namespace {

double estimate(std::uint64_t bytes, const Shape& shape) noexcept {
  return transfer_ns(shape, log2_up(shape.ranks), static_cast<double>(bytes) * (shape.ranks - 1));
}

void make(const CollSpec& spec, Builder& b) noexcept {
  const Piece mine = spec.recv.block(spec.rank);
  if (mine.bytes == 0) return;
  StepId have[32];  // dependencies of the next send: the own block, then the receive of each round
  int known = 0;
  have[known++] = spec.in_place ? kNone : b.copy(spec.send.range(0, 1), mine);
  for (int distance = 1; distance < spec.size; distance *= 2) {
    const int partner = spec.rank ^ distance;
    const int ours = spec.rank & ~(distance - 1), theirs = partner & ~(distance - 1);
    b.round(known);
    const StepId got = b.recv(partner, spec.recv.range(theirs, theirs + distance));
    const StepId sent = b.send(partner, spec.recv.range(ours, ours + distance));
    for (int i = 0; i < known; ++i) b.depend(sent, have[i]);
    have[known++] = got;
  }
}

bool fits(const Shape& shape) noexcept { return is_power(shape.ranks); }

}  // namespace

const Algorithm kAllgatherDoubling{
    Op::allgather, "doubling", "recursive doubling between pairs; powers of two only", fits, estimate, make};

}  // namespace herald::coll
