// SPDX-License-Identifier: BSD-3-Clause
// Pipelined broadcast down a binary tree: log2(n) deep; inner ranks send every byte twice.
#include "coll/make/bcast_pipeline.hpp"

namespace herald::coll {
namespace {

double estimate(std::uint64_t bytes, const Shape& shape) noexcept {
  return pipeline_ns(bytes, shape, 2 * (log2_up(shape.ranks + 1) - 1), 2);
}

void make(const CollSpec& spec, Builder& b) noexcept {
  const int v = spec.relative(spec.rank);
  bcast_pipeline(spec, b, v == 0 ? -1 : (v - 1) / 2, 2 * v + 1, 2);
}

bool fits(const Shape& shape) noexcept { return shape.ranks > 2; }

}  // namespace

const Algorithm kBcastBinary{Op::bcast, "binary", "segments down a binary tree", fits, estimate, make};

}  // namespace herald::coll
