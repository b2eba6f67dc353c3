// SPDX-License-Identifier: BSD-3-Clause
// coll/make/reduce_tree.hpp: reduces up a binomial tree to place 0. The subtree of a place is the places
// right after it, reduced from left to right, so rank order is kept.
#pragma once
#include "coll/make/reduce_chain.hpp"
#include "coll/make/tree.hpp"

namespace herald::coll {

struct TreeResult {
  Piece piece;      // at place 0: the result
  StepId ready;     // at place 0: complete
  StepId own_read;  // when the rank's own contribution is no longer read
};

// Place v is rank (v + first) % size. `target` may have no layout.
inline TreeResult reduce_tree(const CollSpec& spec, Builder& b, int first, const Piece& own,
                              const Piece& target) noexcept {
  const Tree tree{spec.size};
  const int v = (spec.rank - first + spec.size) % spec.size;
  const auto rank_of = [&](int place) { return (place + first) % spec.size; };
  int children = 0;
  for (int distance = 1; tree.has_child(v, distance); distance *= 2) ++children;
  ReduceChain chain(b, own, target, children);
  for (int distance = 1; tree.has_child(v, distance); distance *= 2)
    chain.reduce_message(rank_of(v + distance));
  if (v == 0) return {chain.result(), chain.ready(), chain.own_read()};
  const StepId sent = b.send(rank_of(tree.parent(v)), chain.result(), {chain.ready()});
  return {chain.result(), chain.ready(), children == 0 ? sent : chain.own_read()};
}

}  // namespace herald::coll
