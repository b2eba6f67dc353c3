// SPDX-License-Identifier: BSD-3-Clause
// coll/make/reduce_fan.hpp: reduces up a wide tree to rank 0. The order of ranks is kept.
#pragma once
#include "coll/make/cast.hpp"
#include "coll/make/reduce_chain.hpp"

namespace herald::coll {

struct FanResult {
  Piece piece;   // rank 0: the result
  StepId ready;  // rank 0: when it is there; others: when it has left, and what they contribute is free
};

// At rank 0 the result comes to `target`, if that has a layout.
inline FanResult reduce_fan(const CollSpec& ask, Builder& b, const Piece& own, const Piece& target) noexcept {
  const FanTree tree(ask.rank, ask.size);
  Chain chain(b, own, ask.rank == 0 ? target : Piece{}, static_cast<int>(tree.children.size()));
  for (const int child : tree.children) chain.fold_message(child);
  if (ask.rank != 0) return {Piece{}, b.send(tree.parent, chain.result(), {chain.ready()})};
  if (target.layout == nullptr) return {chain.result(), chain.ready()};
  const StepId ready = chain.settle();
  return {target, ready};
}
inline double reduce_fan_ns(const Shape& shape, double bytes) noexcept {
  const int depth = FanTree::depth(shape.ranks), width = std::min(shape.ranks - 1, kFanIn);
  return depth * (shape.cost.message_ns +
                  width * (kHearNs + bytes * (shape.cost.byte_ns + shape.cost.reduce_byte_ns)));
}

}  // namespace herald::coll
