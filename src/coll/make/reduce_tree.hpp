// SPDX-License-Identifier: BSD-3-Clause
// coll/make/reduce_tree.hpp: reduces up a binomial tree to its place 0. A place's subtree is the places right
// after it, folded from left to right, so the order of the places is kept: the tree serves reductions that do
// not commute.
#pragma once
#include "coll/make/reduce_chain.hpp"
#include "coll/make/tree.hpp"

namespace herald::coll {

struct TreeResult {
  Piece piece;      // at place 0: the result
  StepId ready;     // at place 0: when it is there
  StepId own_free;  // when the rank's own contribution is no longer read
};

// Place v is rank (v + first) % size. `target` may have no layout.
inline TreeResult reduce_tree(const CollSpec& ask, Builder& b, int first, const Piece& own,
                              const Piece& target) noexcept {
  const Tree tree{ask.size};
  const int v = (ask.rank - first + ask.size) % ask.size;
  const auto rank_of = [&](int place) { return (place + first) % ask.size; };
  int children = 0;
  for (int distance = 1; tree.has_child(v, distance); distance *= 2) ++children;
  Chain chain(b, own, target, children);
  for (int distance = 1; tree.has_child(v, distance); distance *= 2)
    chain.fold_message(rank_of(v + distance));
  if (v == 0) return {chain.result(), chain.ready(), chain.own_free()};
  const StepId sent = b.send(rank_of(tree.parent(v)), chain.result(), {chain.ready()});
  return {chain.result(), chain.ready(), children == 0 ? sent : chain.own_free()};
}

}  // namespace herald::coll
