// SPDX-License-Identifier: BSD-3-Clause
#include "coll/neighbors.hpp"

#include <numeric>
#include <tuple>
#include <utility>

namespace herald::coll {
namespace {

// Sets of ranks that are joined by edges.
class Components {
 public:
  explicit Components(std::size_t ranks) noexcept : parent_(ranks), count_(ranks) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }
  void join(int a, int b) noexcept {
    a = root_of(a);
    b = root_of(b);
    if (a == b) return;
    parent_[static_cast<std::size_t>(a)] = b;
    --count_;
  }
  std::size_t count() const noexcept { return count_; }

 private:
  int root_of(int rank) noexcept {
    while (parent_[static_cast<std::size_t>(rank)] != rank) {
      int& above = parent_[static_cast<std::size_t>(rank)];
      above = parent_[static_cast<std::size_t>(above)];
      rank = above;
    }
    return rank;
  }
  std::vector<int> parent_;
  std::size_t count_;
};

bool is_connected(std::span<const std::vector<Edge>> destinations) noexcept {
  Components components(destinations.size());
  for (int from = 0; from < static_cast<int>(destinations.size()); ++from)
    for (const Edge& edge : destinations[static_cast<std::size_t>(from)])
      if (edge.rank != kNoRank) components.join(from, edge.rank);
  return components.count() == 1;
}

std::shared_ptr<const HostEdges> find_host_edges(Cluster cluster, int rank,
                                                 std::span<const std::vector<Edge>> destinations) noexcept {
  std::vector<HostEdges::Crossing> edges;
  const int own = cluster.host_of(rank);
  for (int from = 0; from < static_cast<int>(destinations.size()); ++from)
    for (const Edge& edge : destinations[static_cast<std::size_t>(from)]) {
      if (edge.rank == kNoRank) continue;
      const int out = cluster.host_of(from), in = cluster.host_of(edge.rank);
      if (out != in && (out == own || in == own)) edges.push_back({from, edge.rank, edge.number});
    }
  if (edges.size() < 2) return nullptr;
  std::sort(edges.begin(), edges.end(), [](const auto& a, const auto& b) {
    return std::tie(a.to, a.from, a.number) < std::tie(b.to, b.from, b.number);
  });
  return std::make_shared<HostEdges>(HostEdges{std::move(cluster), std::move(edges)});
}

std::int32_t place_of(int rank, const Edge& source, const std::vector<Edge>& destinations) noexcept {
  const auto found = std::find_if(destinations.begin(), destinations.end(), [&](const Edge& edge) {
    return edge.rank == rank && edge.number == source.number;
  });
  return static_cast<std::int32_t>(found - destinations.begin());
}

}  // namespace

bool wants_all_edges(std::span<const int> hosts) noexcept { return Cluster(hosts).largest() > 1; }

void learn_all_edges(Neighbors& neighbors, std::span<const int> hosts, int rank,
                     std::span<const std::vector<Edge>> destinations) noexcept {
  Cluster cluster(hosts);
  if (cluster.largest() == 1 || !is_connected(destinations)) return;
  if (cluster.hosts() > 1) {
    neighbors.hosts = find_host_edges(std::move(cluster), rank, destinations);
    return;
  }
  for (const Edge& source : neighbors.sources)
    neighbors.places.push_back(
        source.rank == kNoRank ? 0
                               : place_of(rank, source, destinations[static_cast<std::size_t>(source.rank)]));
  for (const std::vector<Edge>& each : destinations)
    neighbors.most_destinations =
        std::max(neighbors.most_destinations, static_cast<std::int32_t>(each.size()));
}

}  // namespace herald::coll
