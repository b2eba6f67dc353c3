// SPDX-License-Identifier: BSD-3-Clause
// Barriers by messages.
#include "coll/make/makers.hpp"
#include "coll/make/tree.hpp"

namespace herald::coll {
namespace {

// Dissemination barrier: in round k each rank notifies the rank 2^k further on. After the last round each
// rank has been notified, directly or not, by all.
double estimate_dissemination(std::uint64_t, const Shape& shape) noexcept {
  return transfer_ns(shape, log2_up(shape.ranks), 0);
}

void make_dissemination(const CollSpec& spec, Builder& b) noexcept {
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

// Barrier up and down a binomial tree: 2 (n - 1) messages in all, where dissemination sends n log2(n), but
// twice the depth. For oversubscribed cores.
double estimate_tree(std::uint64_t, const Shape& shape) noexcept {
  return transfer_ns(shape, 2 * log2_up(shape.ranks), 0);
}

void make_tree(const CollSpec& spec, Builder& b) noexcept {
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

constexpr Algorithm kRows[] = {
    {Op::barrier, "dissemination", "log2(n) rounds, each rank notifies the one 2^k further on", fits_any,
     estimate_dissemination, make_dissemination},
    {Op::barrier, "tree", "up and down a binomial tree, fewest messages", fits_any, estimate_tree, make_tree},
};

}  // namespace

constinit const std::span<const Algorithm> kBarrierAlgorithms = kRows;

}  // namespace herald::coll
