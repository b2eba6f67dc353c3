// SPDX-License-Identifier: BSD-3-Clause
// Scatter down a binomial tree: a rank gets the packed blocks of its subtree and passes its children's on.
#include "coll/make/makers.hpp"
#include "coll/make/tree.hpp"

namespace herald::coll {
namespace {

void make_root(const CollSpec& ask, Builder& b) noexcept {
  const Tree tree{ask.size};
  for (int child = tree.span(0) / 2; child > 0; child /= 2) {
    const int blocks = tree.end(child) - child, first = ask.absolute(child);
    if (first + blocks <= ask.size) {
      b.send(first, ask.send.range(first, first + blocks));
      continue;
    }
    const Piece packed = b.scratch(ask.bytes * static_cast<std::uint64_t>(blocks));
    const int before = ask.size - first;
    const StepId head = b.copy(ask.send.range(first, ask.size), blocks_of(packed, ask.bytes, 0, before));
    const StepId tail =
        b.copy(ask.send.range(0, blocks - before), blocks_of(packed, ask.bytes, before, blocks));
    b.send(first, packed, {head, tail});
  }
  if (!ask.in_place) b.copy(ask.send.block(ask.rank), ask.recv.range(0, 1));
}

void make(const CollSpec& ask, Builder& b) noexcept {
  const Tree tree{ask.size};
  const int v = ask.relative(ask.rank);
  if (ask.bytes == 0) return;
  if (v == 0) return make_root(ask, b);
  const Piece own = ask.recv.range(0, 1);
  const int parent = ask.absolute(tree.parent(v));
  if (tree.leaf(v)) {
    b.recv(parent, own);
    return;
  }
  const Piece all = b.scratch(ask.bytes * static_cast<std::uint64_t>(tree.end(v) - v));
  const StepId got = b.recv(parent, all);
  for (int distance = tree.span(v) / 2; distance > 0; distance /= 2) {
    const int child = v + distance;
    if (child < ask.size)
      b.send(ask.absolute(child), blocks_of(all, ask.bytes, distance, tree.end(child) - v), {got});
  }
  b.copy(blocks_of(all, ask.bytes, 0, 1), own, {got});
}

}  // namespace

const Algorithm kScatterBinomial{Op::scatter, "binomial",     "down a binomial tree, packed on the way",
                                 fits_any,    packed_tree_ns, make};

}  // namespace herald::coll
