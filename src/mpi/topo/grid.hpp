// SPDX-License-Identifier: BSD-3-Clause
// mpi/topo/grid.hpp: ranks and coordinates of a Cartesian grid, and the graph of a topology. Pure arithmetic.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "coll/neighbors.hpp"

namespace herald::mpi {

// Ranks are in row-major order: the last coordinate varies fastest.
struct Grid {
  std::vector<int> dims;
  std::vector<int> periodic;  // 0 or 1

  int ndims() const noexcept { return static_cast<int>(dims.size()); }
  int size() const noexcept;
  std::vector<int> coords_of(int rank) const noexcept;
  // Coordinates in range.
  int rank_of(std::span<const int> coords) const noexcept;
  // The rank so many steps away; coll::kNoRank if that is outside.
  int shifted(int rank, int dim, std::int64_t steps) const noexcept;
  // Per dimension the negative, then the positive neighbour. Data that is sent in one direction is received
  // from the other one, also where both neighbours are the same rank.
  coll::Neighbors neighbors_of(int rank) const noexcept;
  // The grid of the dimensions that remain.
  Grid without(std::span<const int> remain) const noexcept;
};

// The neighbours of all vertices: those of v are to[first[v]] to to[first[v + 1] - 1].
struct Graph {
  std::vector<std::size_t> first = {0};
  std::vector<int> to;
  std::vector<int> weight;

  int size() const noexcept { return static_cast<int>(first.size()) - 1; }
  std::size_t begin(int v) const noexcept { return first[static_cast<std::size_t>(v)]; }
  std::size_t end(int v) const noexcept { return first[static_cast<std::size_t>(v) + 1]; }
};
Graph graph_of(const Grid& grid) noexcept;

// Numbers edges to the same rank in their order.
std::vector<coll::Edge> numbered(std::span<const int> ranks) noexcept;

}  // namespace herald::mpi
