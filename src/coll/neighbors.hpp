// SPDX-License-Identifier: BSD-3-Clause
// coll/neighbors.hpp: the edges of one rank in a process topology, in the order of its blocks.
#pragma once
#include <cstdint>
#include <vector>

#include "coll/plan.hpp"

namespace herald::coll {

// Two ranks may have several edges. The destination with a number at one rank is the source with the same
// number at the other.
struct Edge {
  std::int32_t rank = kNoRank;  // kNoRank: the edge leaves the grid, and its block stays as it is
  std::uint32_t number = 0;
};

struct Neighbors {
  std::vector<Edge> sources, destinations;
};

}  // namespace herald::coll
