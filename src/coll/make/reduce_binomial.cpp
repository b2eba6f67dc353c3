// SPDX-License-Identifier: BSD-3-Clause
// Reduce up a binomial tree. If the operation commutes the tree is rooted at the root; else at rank 0, in
// rank order, and rank 0 sends the result to the root.
#include "coll/make/makers.hpp"
#include "coll/make/reduce_tree.hpp"

namespace herald::coll {
namespace {

double estimate(std::uint64_t bytes, const Shape& shape) noexcept {
  const double rounds = log2_up(shape.ranks), size = static_cast<double>(bytes);
  return transfer_ns(shape, rounds, rounds * size) + rounds * size * shape.cost.reduce_byte_ns;
}

void make(const CollSpec& spec, Builder& b) noexcept {
  if (spec.bytes == 0) return;
  const bool root = spec.rank == spec.root;
  const int first = spec.commutes ? spec.root : 0;
  const Piece own = spec.own(), none;
  b.round(0);
  const TreeResult tree = reduce_tree(spec, b, first, own, root && first == spec.root ? spec.result() : none);
  if (first == spec.root) {
    if (root && (tree.piece.buffer != Buffer::recv)) b.copy(tree.piece, spec.result(), {tree.ready});
    return;
  }
  b.round(1);
  if (spec.rank == first) b.send(spec.root, tree.piece, {tree.ready});
  if (root) b.recv(first, spec.result(), {spec.in_place ? tree.own_read : kNone});
}

}  // namespace

const Algorithm kReduceBinomial{Op::reduce, "binomial", "up a binomial tree, whole messages",
                                fits_any,   estimate,   make};

}  // namespace herald::coll
