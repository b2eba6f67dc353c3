// SPDX-License-Identifier: BSD-3-Clause
// Broadcast of much data along a chain, in segments: every rank but the last receives and sends each byte
// once, and all links are busy at the same time. Deep: for few ranks or a lot of data.
#include "coll/make/bcast_pipeline.hpp"

namespace herald::coll {
namespace {

double estimate(std::uint64_t bytes, const Shape& shape) noexcept {
  return pipeline_ns(bytes, shape, shape.ranks - 1, 1);
}

void make(const CollSpec& ask, Builder& b) noexcept {
  const int v = ask.relative(ask.rank);
  bcast_pipeline(ask, b, v - 1, v + 1, 1);
}

bool fits(const Shape& shape) noexcept { return shape.ranks > 2; }

}  // namespace

const Algorithm kBcastChain{Op::bcast, "chain", "segments along a chain of ranks", fits, estimate, make};

}  // namespace herald::coll
