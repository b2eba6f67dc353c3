// SPDX-License-Identifier: BSD-3-Clause
// Allgather by recursive doubling: in round k pairs of ranks 2^k apart exchange all that they have.
#include "coll/make/makers.hpp"

namespace herald::coll {
namespace {

double estimate(std::uint64_t bytes, const Shape& shape) noexcept {
  return transfer_ns(shape, log2_up(shape.ranks), static_cast<double>(bytes) * (shape.ranks - 1));
}

void make(const CollSpec& ask, Builder& b) noexcept {
  const Piece mine = ask.recv.block(ask.rank);
  if (mine.bytes == 0) return;
  StepId have[32];  // what the next send needs: one's own block, then what came in each round
  int known = 0;
  have[known++] = ask.in_place ? kNone : b.copy(ask.send.range(0, 1), mine);
  for (int distance = 1; distance < ask.size; distance *= 2) {
    const int partner = ask.rank ^ distance;
    const int ours = ask.rank & ~(distance - 1), theirs = partner & ~(distance - 1);
    b.round(known);
    const StepId got = b.recv(partner, ask.recv.range(theirs, theirs + distance));
    const StepId sent = b.send(partner, ask.recv.range(ours, ours + distance));
    for (int i = 0; i < known; ++i) b.also(sent, have[i]);
    have[known++] = got;
  }
}

bool fits(const Shape& shape) noexcept { return is_power(shape.ranks); }

}  // namespace

const Algorithm kAllgatherDoubling{
    Op::allgather, "doubling", "recursive doubling between pairs; powers of two only", fits, estimate, make};

}  // namespace herald::coll
