// SPDX-License-Identifier: BSD-3-Clause
// coll/make/reduce_fan.hpp: reduces up a wide tree to rank 0. Rank order is kept.
#pragma once
#include "coll/make/cast.hpp"
#include "coll/make/reduce_chain.hpp"

namespace herald::coll {

struct FanResult {
  Piece piece;   // rank 0: the result
  StepId ready;  // rank 0: complete; others: sent, and the contribution may be overwritten
};

// At rank 0 the result is written to `target`, if that has a layout.
inline FanResult reduce_fan(const CollSpec& spec, Builder& b, const Piece& own,
                            const Piece& target) noexcept {
  const FanTree tree(spec.rank, spec.size);
  ReduceChain chain(b, own, spec.rank == 0 ? target : Piece{}, static_cast<int>(tree.children.size()));
  for (const int child : tree.children) chain.reduce_message(child);
  if (spec.rank != 0) return {Piece{}, b.send(tree.parent, chain.result(), {chain.ready()})};
  if (target.layout == nullptr) return {chain.result(), chain.ready()};
  const StepId ready = chain.copy_to_target();
  return {target, ready};
}
inline double reduce_fan_ns(const Shape& shape, double bytes) noexcept {
  const int depth = FanTree::depth(shape.ranks), width = std::min(shape.ranks - 1, kFanIn);
  return depth * (shape.cost.message_ns +
                  width * (kReceiveNs + bytes * (shape.cost.byte_ns + shape.cost.reduce_byte_ns)));
}

}  // namespace herald::coll
