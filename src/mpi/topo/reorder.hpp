// SPDX-License-Identifier: BSD-3-Clause
// mpi/topo/reorder.hpp: which process becomes which rank of a topology, so that few edges cross hosts. Pure
// arithmetic on equal facts: every rank computes the same order.
// The order is never worse than the given one. Where no host has more than one rank, or there is one host
// only, it stays as it is.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "mpi/topo/grid.hpp"

namespace herald::mpi {

// `hosts`: the host of each old rank, one for each vertex. Returns the old rank of each new one.
std::vector<int> reorder_grid(const Grid& grid, std::span<const int> hosts) noexcept;
std::vector<int> reorder_graph(const Graph& graph, std::span<const int> hosts) noexcept;

// The weight of edges between vertices on different hosts.
std::int64_t crossing(const Graph& graph, std::span<const int> host_of_vertex) noexcept;

}  // namespace herald::mpi
