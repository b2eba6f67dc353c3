// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/topo/reorder.hpp"

#include <algorithm>
#include <numeric>
#include <queue>

#include "coll/cluster.hpp"
#include "mpi/topo/blocks.hpp"

namespace herald::mpi {
namespace {

using Owners = std::vector<int>;  // the host of each vertex

std::size_t to_index(int i) noexcept { return static_cast<std::size_t>(i); }

Owners present(const coll::Cluster& cluster) noexcept {
  Owners owners(to_index(cluster.ranks()));
  for (int rank = 0; rank < cluster.ranks(); ++rank) owners[to_index(rank)] = cluster.host_of(rank);
  return owners;
}

// A vertex whose host does not change keeps its process; the other processes of a host follow in their order.
std::vector<int> order_of(const coll::Cluster& cluster, const Owners& owners) noexcept {
  std::vector<int> order(owners.size(), coll::kNoRank);
  std::vector<std::size_t> next(to_index(cluster.hosts()), 0);
  for (int v = 0; v < cluster.ranks(); ++v)
    if (owners[to_index(v)] == cluster.host_of(v)) order[to_index(v)] = v;
  for (int v = 0; v < cluster.ranks(); ++v) {
    if (order[to_index(v)] != coll::kNoRank) continue;
    const int host = owners[to_index(v)];
    const std::vector<int>& ranks = cluster.on_host(host);
    while (order[to_index(ranks[next[to_index(host)]])] == ranks[next[to_index(host)]])
      ++next[to_index(host)];
    order[to_index(v)] = ranks[next[to_index(host)]++];
  }
  return order;
}

// Grows the part of each host from a vertex with few neighbours left, always by the vertex with the most
// edges into the part, among equals by the one that was reached first: that keeps parts compact.
Owners grown(const Graph& graph, const coll::Cluster& cluster) noexcept {
  struct Candidate {
    std::int64_t edges;
    int reached, vertex;
    bool operator<(const Candidate& other) const noexcept {
      return edges != other.edges ? edges < other.edges : reached > other.reached;
    }
  };
  const int n = graph.size();
  Owners owners(to_index(n), coll::kNoRank);
  std::vector<std::int64_t> left(to_index(n), 0), inside(to_index(n));
  std::vector<int> reached(to_index(n));
  for (int v = 0; v < n; ++v)
    for (std::size_t e = graph.begin(v); e < graph.end(v); ++e) left[to_index(v)] += graph.weight[e];
  const auto seed = [&] {
    int best = coll::kNoRank;
    for (int v = 0; v < n; ++v)
      if (owners[to_index(v)] == coll::kNoRank &&
          (best == coll::kNoRank || left[to_index(v)] < left[to_index(best)]))
        best = v;
    return best;
  };
  for (int host = 0; host < cluster.hosts(); ++host) {
    std::priority_queue<Candidate> queue;
    std::fill(inside.begin(), inside.end(), 0);
    std::fill(reached.begin(), reached.end(), 0);
    int vertices = 0;
    for (int count = 0; count < cluster.count(host); ++count) {
      while (!queue.empty() && (owners[to_index(queue.top().vertex)] != coll::kNoRank ||
                                queue.top().edges != inside[to_index(queue.top().vertex)]))
        queue.pop();
      const int v = queue.empty() ? seed() : queue.top().vertex;
      owners[to_index(v)] = host;
      for (std::size_t e = graph.begin(v); e < graph.end(v); ++e) {
        const int peer = graph.to[e];
        left[to_index(peer)] -= graph.weight[e];
        inside[to_index(peer)] += graph.weight[e];
        if (reached[to_index(peer)] == 0) reached[to_index(peer)] = ++vertices;
        if (owners[to_index(peer)] == coll::kNoRank)
          queue.push({inside[to_index(peer)], reached[to_index(peer)], peer});
      }
    }
  }
  return owners;
}

// Swaps pairs of vertices between hosts while that saves weight, a few passes at most.
class Improver {
 public:
  Improver(const Graph& graph, Owners& owners, int hosts) noexcept
      : graph_(graph), owners_(owners), members_(to_index(hosts)) {
    for (int v = 0; v < graph.size(); ++v) members_[to_index(owners[to_index(v)])].push_back(v);
  }
  void run() noexcept {
    for (int pass = 0; pass < kPasses; ++pass) {
      bool changed = false;
      for (int v = 0; v < graph_.size(); ++v) changed = improve(v) || changed;
      if (!changed) return;
    }
  }

 private:
  static constexpr int kPasses = 8;

  std::int64_t weight_to(int v, int host) const noexcept {
    std::int64_t sum = 0;
    for (std::size_t e = graph_.begin(v); e < graph_.end(v); ++e)
      if (graph_.to[e] != v && owners_[to_index(graph_.to[e])] == host) sum += graph_.weight[e];
    return sum;
  }
  std::int64_t between(int v, int w) const noexcept {
    std::int64_t sum = 0;
    for (std::size_t e = graph_.begin(v); e < graph_.end(v); ++e)
      if (graph_.to[e] == w) sum += graph_.weight[e];
    return sum;
  }
  bool improve(int v) noexcept {
    const int own = owners_[to_index(v)];
    const std::int64_t stay = weight_to(v, own);
    for (std::size_t e = graph_.begin(v); e < graph_.end(v); ++e) {
      const int host = owners_[to_index(graph_.to[e])];
      if (host == own) continue;
      const std::int64_t gain = weight_to(v, host) - stay;
      if (gain > 0 && swap_into(v, host, gain)) return true;
    }
    return false;
  }
  bool swap_into(int v, int host, std::int64_t gain) noexcept {
    const int own = owners_[to_index(v)];
    int* best = nullptr;
    std::int64_t most = 0;
    for (int& w : members_[to_index(host)]) {
      const std::int64_t both = gain + weight_to(w, own) - weight_to(w, host) - between(v, w) - between(w, v);
      if (both > most) {
        most = both;
        best = &w;
      }
    }
    if (best == nullptr) return false;
    std::vector<int>& mine = members_[to_index(own)];
    owners_[to_index(v)] = host;
    owners_[to_index(*best)] = own;
    std::swap(*std::find(mine.begin(), mine.end(), v), *best);
    return true;
  }

  const Graph& graph_;
  Owners& owners_;
  std::vector<std::vector<int>> members_;  // by host
};

// Weights of both directions, so that the gain of a move counts all edges of a vertex.
Graph symmetric(const Graph& graph) noexcept {
  struct Edge {
    int from, to, weight;
  };
  std::vector<Edge> edges;
  for (int v = 0; v < graph.size(); ++v)
    for (std::size_t e = graph.begin(v); e < graph.end(v); ++e) {
      edges.push_back({v, graph.to[e], graph.weight[e]});
      edges.push_back({graph.to[e], v, graph.weight[e]});
    }
  std::stable_sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) { return a.from < b.from; });
  Graph both;
  std::size_t e = 0;
  for (int v = 0; v < graph.size(); ++v) {
    for (; e < edges.size() && edges[e].from == v; ++e) {
      both.to.push_back(edges[e].to);
      both.weight.push_back(edges[e].weight);
    }
    both.first.push_back(both.to.size());
  }
  return both;
}

// The best of the present order and of the given ones, improved.
std::vector<int> best_order(const Graph& graph, const coll::Cluster& cluster,
                            std::span<const Owners> offers) noexcept {
  Owners best = present(cluster);
  std::int64_t least = crossing(graph, best);
  const auto offer = [&](const Owners& owners) {
    if (const std::int64_t cost = crossing(graph, owners); cost < least) {
      least = cost;
      best = owners;
    }
  };
  for (const Owners& owners : offers) offer(owners);
  Owners improved = best;
  Improver(graph, improved, cluster.hosts()).run();
  offer(improved);
  return order_of(cluster, best);
}

std::vector<int> unchanged(std::size_t n) noexcept {
  std::vector<int> order(n);
  std::iota(order.begin(), order.end(), 0);
  return order;
}

bool is_trivial(const coll::Cluster& cluster) noexcept {
  return cluster.hosts() <= 1 || cluster.largest() == 1;
}

}  // namespace

std::int64_t crossing(const Graph& graph, std::span<const int> host_of_vertex) noexcept {
  std::int64_t sum = 0;
  for (int v = 0; v < graph.size(); ++v)
    for (std::size_t e = graph.begin(v); e < graph.end(v); ++e)
      if (host_of_vertex[to_index(v)] != host_of_vertex[to_index(graph.to[e])]) sum += graph.weight[e];
  return sum;
}

std::vector<int> reorder_grid(const Grid& grid, std::span<const int> hosts) noexcept {
  const coll::Cluster cluster(hosts);
  if (is_trivial(cluster)) return unchanged(hosts.size());
  const Graph graph = graph_of(grid);
  std::vector<Owners> offers = {bisected(grid, graph, cluster)};
  if (Owners blocks = equal_blocks(grid, cluster); !blocks.empty()) offers.push_back(std::move(blocks));
  return best_order(graph, cluster, offers);
}

std::vector<int> reorder_graph(const Graph& graph, std::span<const int> hosts) noexcept {
  const coll::Cluster cluster(hosts);
  if (is_trivial(cluster)) return unchanged(hosts.size());
  const Graph both = symmetric(graph);
  const Owners offers[] = {grown(both, cluster)};
  return best_order(both, cluster, offers);
}

}  // namespace herald::mpi
