// SPDX-License-Identifier: BSD-3-Clause
// Reduce up a binomial tree. If the operation commutes the tree starts at the root; else it is laid over the
// ranks in order, and rank 0 passes the result on.
#include "coll/make/makers.hpp"
#include "coll/make/reduce_tree.hpp"

namespace herald::coll {
namespace {

double estimate(std::uint64_t bytes, const Shape& shape) noexcept {
  const double rounds = log2_up(shape.ranks), size = static_cast<double>(bytes);
  return transfer_ns(shape, rounds, rounds * size) + rounds * size * shape.cost.reduce_byte_ns;
}

void make(const CollSpec& ask, Builder& b) noexcept {
  if (ask.bytes == 0) return;
  const bool root = ask.rank == ask.root;
  const int first = ask.commutes ? ask.root : 0;
  const Piece own = ask.own(), none;
  b.round(0);
  const TreeResult tree = reduce_tree(ask, b, first, own, root && first == ask.root ? ask.result() : none);
  if (first == ask.root) {
    if (root && (tree.piece.buffer != Buffer::recv)) b.copy(tree.piece, ask.result(), {tree.ready});
    return;
  }
  b.round(1);
  if (ask.rank == first) b.send(ask.root, tree.piece, {tree.ready});
  if (root) b.recv(first, ask.result(), {ask.in_place ? tree.own_free : kNone});
}

}  // namespace

const Algorithm kReduceBinomial{Op::reduce, "binomial", "up a binomial tree, whole messages",
                                fits_any,   estimate,   make};

}  // namespace herald::coll
