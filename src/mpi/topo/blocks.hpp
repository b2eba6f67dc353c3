// SPDX-License-Identifier: BSD-3-Clause
// mpi/topo/blocks.hpp: cuts a grid into one part for each host, with few edges between parts. Pure
// arithmetic. Both return the host of each cell; a host gets as many cells as it has ranks.
#pragma once
#include <vector>

#include "coll/cluster.hpp"
#include "mpi/topo/grid.hpp"

namespace herald::mpi {

// Equal boxes, of the shape with the smallest surface. Empty if the counts of the hosts differ, or no box
// fits.
std::vector<int> equal_blocks(const Grid& grid, const coll::Cluster& cluster) noexcept;
// Halves the grid again and again, each time in the dimension in which that cuts the fewest edges.
std::vector<int> bisected(const Grid& grid, const Graph& graph, const coll::Cluster& cluster) noexcept;

}  // namespace herald::mpi
