// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/topo/grid.hpp"

#include <unordered_map>

namespace herald::mpi {

int Grid::size() const noexcept {
  int product = 1;
  for (const int dim : dims) product *= dim;
  return product;
}

std::vector<int> Grid::coords_of(int rank) const noexcept {
  std::vector<int> coords(dims.size());
  for (std::size_t i = dims.size(); i-- > 0;) {
    coords[i] = rank % dims[i];
    rank /= dims[i];
  }
  return coords;
}

int Grid::rank_of(std::span<const int> coords) const noexcept {
  int rank = 0;
  for (std::size_t i = 0; i < dims.size(); ++i) rank = rank * dims[i] + coords[i];
  return rank;
}

int Grid::shifted(int rank, int dim, std::int64_t steps) const noexcept {
  int stride = 1;
  for (int i = ndims() - 1; i > dim; --i) stride *= dims[static_cast<std::size_t>(i)];
  const int extent = dims[static_cast<std::size_t>(dim)], coord = rank / stride % extent;
  std::int64_t target = coord + steps;
  if (periodic[static_cast<std::size_t>(dim)] != 0)
    target = ((target % extent) + extent) % extent;
  else if (target < 0 || target >= extent)
    return coll::kNoRank;
  return rank + (static_cast<int>(target) - coord) * stride;
}

coll::Neighbors Grid::neighbors_of(int rank) const noexcept {
  coll::Neighbors neighbors;
  for (int i = 0; i < 2 * ndims(); ++i) {
    const int peer = shifted(rank, i / 2, i % 2 == 0 ? -1 : 1);
    const auto direction = static_cast<std::uint32_t>(i);
    neighbors.destinations.push_back({peer, direction});
    neighbors.sources.push_back({peer, direction ^ 1});
  }
  return neighbors;
}

Grid Grid::without(std::span<const int> remain) const noexcept {
  Grid kept;
  for (std::size_t i = 0; i < dims.size(); ++i) {
    if (remain[i] == 0) continue;
    kept.dims.push_back(dims[i]);
    kept.periodic.push_back(periodic[i]);
  }
  return kept;
}

Graph graph_of(const Grid& grid) noexcept {
  Graph graph;
  const int size = grid.size();
  for (int rank = 0; rank < size; ++rank) {
    for (int i = 0; i < 2 * grid.ndims(); ++i)
      if (const int peer = grid.shifted(rank, i / 2, i % 2 == 0 ? -1 : 1); peer != coll::kNoRank)
        graph.to.push_back(peer);
    graph.first.push_back(graph.to.size());
  }
  graph.weight.assign(graph.to.size(), 1);
  return graph;
}

std::vector<coll::Edge> numbered(std::span<const int> ranks) noexcept {
  std::vector<coll::Edge> edges;
  edges.reserve(ranks.size());
  std::unordered_map<int, std::uint32_t> seen;
  for (const int rank : ranks) edges.push_back({rank, seen[rank]++});
  return edges;
}

}  // namespace herald::mpi
