// SPDX-License-Identifier: BSD-3-Clause
// Gather up a binomial tree: inner ranks receive the packed blocks of their subtree and send them in one
// message. Relative to the root the blocks of a subtree are contiguous; in rank order they may wrap around.
#include "coll/make/makers.hpp"
#include "coll/make/tree.hpp"

namespace herald::coll {
namespace {

void make_root(const CollSpec& spec, Builder& b) noexcept {
  const Tree tree{spec.size};
  for (int child = 1; child < spec.size; child *= 2) {
    const int blocks = tree.end(child) - child, first = spec.absolute(child);
    if (first + blocks <= spec.size) {
      b.recv(first, spec.recv.range(first, first + blocks));
      continue;
    }
    const Piece packed = b.scratch(spec.bytes * static_cast<std::uint64_t>(blocks));
    const StepId got = b.recv(first, packed);
    const int before = spec.size - first;
    b.copy(blocks_of(packed, spec.bytes, 0, before), spec.recv.range(first, spec.size), {got});
    b.copy(blocks_of(packed, spec.bytes, before, blocks), spec.recv.range(0, blocks - before), {got});
  }
  if (!spec.in_place) b.copy(spec.send.range(0, 1), spec.recv.block(spec.rank));
}

void make(const CollSpec& spec, Builder& b) noexcept {
  const Tree tree{spec.size};
  const int v = spec.relative(spec.rank);
  if (spec.bytes == 0) return;
  if (v == 0) return make_root(spec, b);
  const Piece own = spec.send.range(0, 1);
  const int parent = spec.absolute(tree.parent(v));
  if (tree.leaf(v)) {
    b.send(parent, own);
    return;
  }
  const Piece all = b.scratch(spec.bytes * static_cast<std::uint64_t>(tree.end(v) - v));
  StepId have[kMaxRounds + 1];
  int known = 0;
  for (int distance = 1; tree.has_child(v, distance); distance *= 2) {
    const int child = v + distance;
    have[known++] = b.recv(spec.absolute(child), blocks_of(all, spec.bytes, distance, tree.end(child) - v));
  }
  have[known++] = b.copy(own, blocks_of(all, spec.bytes, 0, 1));
  const StepId sent = b.send(parent, all);
  for (int i = 0; i < known; ++i) b.depend(sent, have[i]);
}

}  // namespace

const Algorithm kGatherBinomial{Op::gather, "binomial",     "up a binomial tree, packed on the way",
                                fits_any,   packed_tree_ns, make};

}  // namespace herald::coll
