// SPDX-License-Identifier: BSD-3-Clause
// tests/unit/engine/mask.hpp: processors, the first 64, by bits.
#pragma once
#include "path/shm/segment.hpp"

namespace herald::engine {

inline path::CpuMask mask(std::uint64_t low) {
  path::CpuMask out{};
  out[0] = low;
  return out;
}

}  // namespace herald::engine
