// SPDX-License-Identifier: BSD-3-Clause
// Scatter down a binomial tree: a rank receives the packed blocks of its subtree and forwards those of its
// children.
#include "coll/make/makers.hpp"
#include "coll/make/tree.hpp"

namespace herald::coll {
namespace {

void make_root(const CollSpec& spec, Builder& b) noexcept {
  const Tree tree{spec.size};
  for (int child = tree.span(0) / 2; child > 0; child /= 2) {
    const int blocks = tree.end(child) - child, first = spec.absolute(child);
    if (first + blocks <= spec.size) {
      b.send(first, spec.send.range(first, first + blocks));
      continue;
    }
    const Piece packed = b.scratch(spec.bytes * static_cast<std::uint64_t>(blocks));
    const int before = spec.size - first;
    const StepId head = b.copy(spec.send.range(first, spec.size), blocks_of(packed, spec.bytes, 0, before));
    const StepId tail =
        b.copy(spec.send.range(0, blocks - before), blocks_of(packed, spec.bytes, before, blocks));
    b.send(first, packed, {head, tail});
  }
  if (!spec.in_place) b.copy(spec.send.block(spec.rank), spec.recv.range(0, 1));
}

void make(const CollSpec& spec, Builder& b) noexcept {
  const Tree tree{spec.size};
  const int v = spec.relative(spec.rank);
  if (spec.bytes == 0) return;
  if (v == 0) return make_root(spec, b);
  const Piece own = spec.recv.range(0, 1);
  const int parent = spec.absolute(tree.parent(v));
  if (tree.leaf(v)) {
    b.recv(parent, own);
    return;
  }
  const Piece all = b.scratch(spec.bytes * static_cast<std::uint64_t>(tree.end(v) - v));
  const StepId got = b.recv(parent, all);
  for (int distance = tree.span(v) / 2; distance > 0; distance /= 2) {
    const int child = v + distance;
    if (child < spec.size)
      b.send(spec.absolute(child), blocks_of(all, spec.bytes, distance, tree.end(child) - v), {got});
  }
  b.copy(blocks_of(all, spec.bytes, 0, 1), own, {got});
}

}  // namespace

const Algorithm kScatterBinomial{Op::scatter, "binomial",     "down a binomial tree, packed on the way",
                                 fits_any,    packed_tree_ns, make};

}  // namespace herald::coll
