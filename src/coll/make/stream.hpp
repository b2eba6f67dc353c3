// SPDX-License-Identifier: BSD-3-Clause
// coll/make/stream.hpp: what the algorithms over streams of shared memory have in common.
#pragma once
#include "coll/make/shared.hpp"

namespace herald::coll {

inline bool fits_stream(const Shape& shape) noexcept { return fits_shared(shape) && shape.streams; }
// Both copies go on at once; a chunk that another processor just wrote is slower to read than one's own.
inline double stream_ns(const Shape& shape, double bytes) noexcept {
  return bytes * shape.cost.copy_byte_ns * 1.4;
}

}  // namespace herald::coll
