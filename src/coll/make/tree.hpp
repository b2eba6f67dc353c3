// SPDX-License-Identifier: BSD-3-Clause
// coll/make/tree.hpp: the binomial tree over places 0 .. n-1: the subtree of place v is the places [v,
// end(v)), and its children are v + 1, v + 2, v + 4 ... inside that.
#pragma once
#include <algorithm>

#include "coll/shape.hpp"

namespace herald::coll {

struct Tree {
  int places;

  // Distance to the parent; for place 0 the first power of two that is not below `places`.
  int span(int v) const noexcept {
    int distance = 1;
    while (distance < places && (v & distance) == 0) distance *= 2;
    return distance;
  }
  int parent(int v) const noexcept { return v - span(v); }
  int end(int v) const noexcept { return std::min(places, v + span(v)); }
  bool has_child(int v, int distance) const noexcept { return distance < span(v) && v + distance < places; }
  bool leaf(int v) const noexcept { return !has_child(v, 1); }
};

constexpr int kMaxRounds = 32;

// Cost of moving blocks of `bytes`, all but the root's, along the tree, packed on the way.
inline double packed_tree_ns(std::uint64_t bytes, const Shape& shape) noexcept {
  const double moved = static_cast<double>(bytes) * (shape.ranks - 1);
  return transfer_ns(shape, log2_up(shape.ranks), moved) + moved / 2 * shape.cost.copy_byte_ns;
}

}  // namespace herald::coll
