// SPDX-License-Identifier: BSD-3-Clause
// Scatter down a binomial tree: a rank gets the packed blocks of its subtree and passes its children's on.
#include "coll/make/makers.hpp"
#include "coll/make/tree.hpp"

namespace herald::coll {
namespace {

double estimate(std::uint64_t bytes, const Shape& shape) noexcept {
  const double moved = static_cast<double>(bytes) * (shape.ranks - 1);
  return transfer_ns(shape, log2_up(shape.ranks), moved) + moved / 2 * shape.cost.copy_byte_ns;
}

Piece part(const Piece& all, std::uint64_t block, int begin, int end) noexcept {
  return bytes_of(all, block * static_cast<std::uint64_t>(begin),
                  block * static_cast<std::uint64_t>(end - begin));
}

void make_root(const Ask& ask, Builder& b) noexcept {
  const Tree tree{ask.size};
  for (int child = tree.span(0) / 2; child > 0; child /= 2) {
    const int blocks = tree.end(child) - child, first = ask.absolute(child);
    if (first + blocks <= ask.size) {
      b.send(first, ask.send.range(first, first + blocks));
      continue;
    }
    const Piece packed = b.scratch(ask.bytes * static_cast<std::uint64_t>(blocks));
    const int before = ask.size - first;
    const StepId head = b.copy(ask.send.range(first, ask.size), part(packed, ask.bytes, 0, before));
    const StepId tail = b.copy(ask.send.range(0, blocks - before), part(packed, ask.bytes, before, blocks));
    b.send(first, packed, {head, tail});
  }
  if (!ask.in_place) b.copy(ask.send.block(ask.rank), ask.recv.range(0, 1));
}

void make(const Ask& ask, Builder& b) noexcept {
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
      b.send(ask.absolute(child), part(all, ask.bytes, distance, tree.end(child) - v), {got});
  }
  b.copy(part(all, ask.bytes, 0, 1), own, {got});
}

}  // namespace

const Algorithm kScatterBinomial{Op::scatter, "binomial", "down a binomial tree, packed on the way",
                                 fits_any,    estimate,   make};

}  // namespace herald::coll
