// SPDX-License-Identifier: BSD-3-Clause
// Gather up a binomial tree: inner ranks collect the packed blocks of their subtree and send them in one
// message. Seen from the root the blocks of a subtree are neighbours; in rank order they may wrap round.
#include "coll/make/makers.hpp"
#include "coll/make/tree.hpp"

namespace herald::coll {
namespace {

void make_root(const CollSpec& ask, Builder& b) noexcept {
  const Tree tree{ask.size};
  for (int child = 1; child < ask.size; child *= 2) {
    const int blocks = tree.end(child) - child, first = ask.absolute(child);
    if (first + blocks <= ask.size) {
      b.recv(first, ask.recv.range(first, first + blocks));
      continue;
    }
    const Piece packed = b.scratch(ask.bytes * static_cast<std::uint64_t>(blocks));
    const StepId got = b.recv(first, packed);
    const int before = ask.size - first;
    b.copy(blocks_of(packed, ask.bytes, 0, before), ask.recv.range(first, ask.size), {got});
    b.copy(blocks_of(packed, ask.bytes, before, blocks), ask.recv.range(0, blocks - before), {got});
  }
  if (!ask.in_place) b.copy(ask.send.range(0, 1), ask.recv.block(ask.rank));
}

void make(const CollSpec& ask, Builder& b) noexcept {
  const Tree tree{ask.size};
  const int v = ask.relative(ask.rank);
  if (ask.bytes == 0) return;
  if (v == 0) return make_root(ask, b);
  const Piece own = ask.send.range(0, 1);
  const int parent = ask.absolute(tree.parent(v));
  if (tree.leaf(v)) {
    b.send(parent, own);
    return;
  }
  const Piece all = b.scratch(ask.bytes * static_cast<std::uint64_t>(tree.end(v) - v));
  StepId have[kMaxRounds + 1];
  int known = 0;
  for (int distance = 1; tree.has_child(v, distance); distance *= 2) {
    const int child = v + distance;
    have[known++] = b.recv(ask.absolute(child), blocks_of(all, ask.bytes, distance, tree.end(child) - v));
  }
  have[known++] = b.copy(own, blocks_of(all, ask.bytes, 0, 1));
  const StepId sent = b.send(parent, all);
  for (int i = 0; i < known; ++i) b.also(sent, have[i]);
}

}  // namespace

const Algorithm kGatherBinomial{Op::gather, "binomial",     "up a binomial tree, packed on the way",
                                fits_any,   packed_tree_ns, make};

}  // namespace herald::coll
