// SPDX-License-Identifier: BSD-3-Clause
// Memory that ranks share, aligned as a file of shared memory is.
#pragma once
#include <cstddef>

#include "path/shm/coll_segment.hpp"

namespace herald::path {

struct alignas(kCacheLine) Line {
  std::byte bytes[kCacheLine];
};

}  // namespace herald::path
