// SPDX-License-Identifier: BSD-3-Clause
// coll/make/bcast_pipeline.hpp: a broadcast in segments: each is forwarded to the children as soon as it
// arrives.
#pragma once
#include "coll/make/makers.hpp"
#include "coll/make/segments.hpp"

namespace herald::coll {

// Parent and children are ranks relative to the root; -1 is no parent, and a child beyond the last rank is
// none.
inline void bcast_pipeline(const CollSpec& spec, Builder& b, int parent, int first_child,
                           int children) noexcept {
  const Piece data = spec.recv.range(0, 1);
  if (data.bytes == 0) return;
  const int count = segments_of(data.bytes);
  const auto segments = static_cast<std::uint64_t>(count);
  const std::uint64_t each = (data.bytes + segments - 1) / segments;
  b.window(kWindow, kWindow);
  for (int i = 0; i < count; ++i) {
    const std::uint64_t at = std::min(data.bytes, each * static_cast<std::uint64_t>(i));
    const Piece segment = bytes_of(data, at, std::min(each, data.bytes - at));
    if (segment.bytes == 0) break;
    b.round(i);
    const StepId got = parent < 0 ? kNone : b.recv(spec.absolute(parent), segment);
    for (int child = first_child; child < first_child + children && child < spec.size; ++child)
      b.send(spec.absolute(child), segment, {got});
  }
}

}  // namespace herald::coll
