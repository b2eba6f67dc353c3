// SPDX-License-Identifier: BSD-3-Clause
// coll/neighbors.hpp: the edges of one rank in a process topology, in the order of its blocks, and facts
// about those of other ranks.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "coll/cluster.hpp"
#include "coll/plan.hpp"

namespace herald::coll {

// Two ranks may have several edges. The destination with a number at one rank is the source with the same
// number at the other.
struct Edge {
  std::int32_t rank = kNoRank;  // kNoRank: the edge leaves the grid, and its block stays as it is
  std::uint32_t number = 0;
};

// Edges of all ranks of one host to and from other hosts, ordered by destination, source and number. Only of
// connected topologies: all blocks of a call without counts are equally long there.
struct HostEdges {
  struct Crossing {
    std::int32_t from, to;
    std::uint32_t number;
  };
  Cluster cluster;
  std::vector<Crossing> edges;
};

struct Neighbors {
  std::vector<Edge> sources, destinations;
  std::shared_ptr<const HostEdges> hosts = nullptr;  // null: no edges, or they are not known
  // If all ranks share a host, and the topology is connected: the place of this rank's block among those of
  // each source, and the most blocks of a rank. Else empty.
  std::vector<std::int32_t> places = {};
  std::int32_t most_destinations = 0;
};

// Whether facts about other ranks' edges help: some ranks share a host.
bool wants_all_edges(std::span<const int> hosts) noexcept;
// Sets what follows from the destinations of all ranks. `hosts`: a number for each rank, equal for ranks of
// one host.
void learn_all_edges(Neighbors& neighbors, std::span<const int> hosts, int rank,
                     std::span<const std::vector<Edge>> destinations) noexcept;

}  // namespace herald::coll
