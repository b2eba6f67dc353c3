// SPDX-License-Identifier: BSD-3-Clause
// Pipelined broadcast of long data along a chain: every rank but the last receives and sends each byte once,
// and all links are busy at the same time. Deep: for few ranks or very long data.
#include "coll/make/bcast_pipeline.hpp"

namespace herald::coll {
namespace {

double estimate(std::uint64_t bytes, const Shape& shape) noexcept {
  return pipeline_ns(bytes, shape, shape.ranks - 1, 1);
}

void make(const CollSpec& spec, Builder& b) noexcept {
  const int v = spec.relative(spec.rank);
  bcast_pipeline(spec, b, v - 1, v + 1, 1);
}

bool fits(const Shape& shape) noexcept { return shape.ranks > 2; }

}  // namespace

const Algorithm kBcastChain{Op::bcast, "chain", "segments along a chain of ranks", fits, estimate, make};

}  // namespace herald::coll
