// SPDX-License-Identifier: BSD-3-Clause
// coll/make/stream.hpp: cost terms that the algorithms over shared-memory streams share.
#pragma once
#include "coll/make/shared.hpp"

namespace herald::coll {

inline bool fits_stream(const Shape& shape) noexcept { return fits_shared(shape) && shape.streams; }
// Both copies overlap; a chunk that another core has just written is slower to read.
inline double stream_ns(const Shape& shape, double bytes) noexcept {
  return bytes * shape.cost.copy_byte_ns * 1.4;
}

}  // namespace herald::coll
