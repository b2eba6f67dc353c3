// SPDX-License-Identifier: BSD-3-Clause
// Barrier up and down a binomial tree: 2 (n - 1) messages in all, where dissemination sends n log2(n), but
// twice the depth. For oversubscribed cores.
#include "coll/make/makers.hpp"
#include "coll/make/tree.hpp"

namespace herald::coll {
namespace {

double estimate(std::uint64_t, const Shape& shape) noexcept {
  return transfer_ns(shape, 2 * log2_up(shape.ranks), 0);
}

void make(const CollSpec& spec, Builder& b) noexcept {
  const Tree tree{spec.size};
  const int v = spec.rank;
  StepId received[kMaxRounds];
  int known = 0;
  b.round(0);
  for (int distance = 1; tree.has_child(v, distance); distance *= 2)
    received[known++] = b.recv(v + distance, Piece{});
  StepId released = kNone;
  if (v != 0) {
    b.round(1);
    released = b.recv(tree.parent(v), Piece{});
    b.round(0);
    const StepId sent = b.send(tree.parent(v), Piece{});
    for (int i = 0; i < known; ++i) b.depend(sent, received[i]);
  }
  b.round(1);
  for (int distance = tree.span(v) / 2; distance > 0; distance /= 2) {
    if (!tree.has_child(v, distance)) continue;
    const StepId sent = b.send(v + distance, Piece{}, {released});
    for (int i = 0; v == 0 && i < known; ++i) b.depend(sent, received[i]);
  }
}

}  // namespace

const Algorithm kBarrierTree{Op::barrier, "tree",   "up and down a binomial tree, fewest messages",
                             fits_any,    estimate, make};

}  // namespace herald::coll
