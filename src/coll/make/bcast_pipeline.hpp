// SPDX-License-Identifier: BSD-3-Clause
// coll/make/bcast_pipeline.hpp: a broadcast in segments: each is passed on to the children as soon as it is
// here.
#pragma once
#include "coll/make/makers.hpp"
#include "coll/make/segments.hpp"

namespace herald::coll {

// Parent and children are places seen from the root; -1 is no parent, and a child beyond the last is none.
inline void bcast_pipeline(const CollSpec& ask, Builder& b, int parent, int first_child,
                           int children) noexcept {
  const Piece data = ask.recv.range(0, 1);
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
    const StepId got = parent < 0 ? kNone : b.recv(ask.absolute(parent), segment);
    for (int child = first_child; child < first_child + children && child < ask.size; ++child)
      b.send(ask.absolute(child), segment, {got});
  }
}

}  // namespace herald::coll
