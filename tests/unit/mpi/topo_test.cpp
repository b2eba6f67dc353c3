// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: dimensions are not balanced, or take forever to find; a rank and its coordinates do
// not agree; the neighbours of two ranks disagree on their edges, most of all in periodic dimensions of one
// or two ranks; a new order loses a rank, or has more edges between hosts than the old one.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "base/prng.hpp"
#include "mpi/topo/dims.hpp"
#include "mpi/topo/grid.hpp"
#include "mpi/topo/reorder.hpp"

namespace herald::mpi {
namespace {

std::size_t at(int i) { return static_cast<std::size_t>(i); }

// The smallest difference, then the largest smallest factor, then the smallest sum, over all ways.
using Balance = std::array<int, 3>;
void try_all(int rest, int left, int cap, int largest, int sum, Balance& best) {
  if (left == 1) {
    if (rest <= cap) best = std::min(best, Balance{std::max(largest, rest) - rest, -rest, sum + rest});
    return;
  }
  for (int f = 1; f <= std::min(cap, rest); ++f)
    if (rest % f == 0) try_all(rest / f, left - 1, f, std::max(largest, f), sum + f, best);
}

TEST(TopoDims, are_as_equal_as_possible) {
  for (int n = 1; n <= 400; ++n)
    for (int count = 1; count <= 5; ++count) {
      const std::vector<int> factors = balanced_factors(n, count);
      ASSERT_EQ(factors.size(), at(count));
      ASSERT_EQ(std::accumulate(factors.begin(), factors.end(), 1, std::multiplies<>()), n);
      ASSERT_TRUE(std::is_sorted(factors.rbegin(), factors.rend()));
      Balance best{n, 0, 2 * n + count};
      try_all(n, count, n, 0, 0, best);
      ASSERT_EQ(factors.front() - factors.back(), best[0]) << n << " in " << count;
      ASSERT_EQ(-factors.back(), best[1]) << n << " in " << count;
      ASSERT_EQ(std::accumulate(factors.begin(), factors.end(), 0), best[2]) << n << " in " << count;
    }
}

TEST(TopoDims, known_examples) {
  EXPECT_EQ(balanced_factors(6, 2), (std::vector<int>{3, 2}));
  EXPECT_EQ(balanced_factors(7, 2), (std::vector<int>{7, 1}));
  EXPECT_EQ(balanced_factors(72, 3), (std::vector<int>{6, 4, 3}));
  EXPECT_EQ(balanced_factors(16, 3), (std::vector<int>{4, 2, 2}));
  EXPECT_EQ(balanced_factors(5040, 3), (std::vector<int>{21, 16, 15}));
  EXPECT_EQ(balanced_factors(98784, 5), (std::vector<int>{14, 14, 9, 8, 7}));
  EXPECT_EQ(balanced_factors(590520, 4), (std::vector<int>{38, 37, 21, 20}));
  EXPECT_EQ(balanced_factors(1, 0), std::vector<int>{});
  EXPECT_EQ(balanced_factors(1000000, 6), std::vector<int>(6, 10));
}

TEST(TopoDims, large_numbers_with_many_divisors) {
  for (const int n : {2095133040, 1396755360, 1 << 30, 2147483647, 2147483646, 1162261467, 223092870})
    for (int count = 1; count <= 40; ++count) {
      const std::vector<int> factors = balanced_factors(n, count);
      EXPECT_EQ(std::accumulate(factors.begin(), factors.end(), std::int64_t{1}, std::multiplies<>()), n);
      EXPECT_TRUE(std::is_sorted(factors.rbegin(), factors.rend()));
    }
}

Grid random_grid(Prng& prng) {
  Grid grid;
  const auto ndims = prng.below(5);
  for (std::uint64_t i = 0; i < ndims; ++i) {
    grid.dims.push_back(1 + static_cast<int>(prng.below(4)));
    grid.periodic.push_back(static_cast<int>(prng.below(2)));
  }
  return grid;
}

TEST(TopoGrid, ranks_and_coordinates_agree) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Prng prng(seed);
    const Grid grid = random_grid(prng);
    for (int rank = 0; rank < grid.size(); ++rank) {
      const std::vector<int> coords = grid.coords_of(rank);
      EXPECT_EQ(grid.rank_of(coords), rank);
      for (int dim = 0; dim < grid.ndims(); ++dim)
        for (const int steps : {-5, -1, 0, 1, 3}) {
          std::vector<int> moved = coords;
          const int extent = grid.dims[at(dim)];
          moved[at(dim)] += steps;
          const bool inside = moved[at(dim)] >= 0 && moved[at(dim)] < extent;
          moved[at(dim)] = ((moved[at(dim)] % extent) + extent) % extent;
          const int wanted = inside || grid.periodic[at(dim)] != 0 ? grid.rank_of(moved) : coll::kNoRank;
          EXPECT_EQ(grid.shifted(rank, dim, steps), wanted);
        }
    }
  }
  EXPECT_EQ(Grid{}.size(), 1);
}

TEST(TopoGrid, block_s_of_a_sender_is_block_s_xor_1_of_its_receiver) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Prng prng(seed);
    const Grid grid = random_grid(prng);
    for (int rank = 0; rank < grid.size(); ++rank) {
      const coll::Neighbors mine = grid.neighbors_of(rank);
      ASSERT_EQ(mine.destinations.size(), 2 * grid.dims.size());
      for (std::size_t s = 0; s < mine.destinations.size(); ++s) {
        const coll::Edge edge = mine.destinations[s];
        EXPECT_EQ(mine.sources[s].rank, edge.rank);
        if (edge.rank == coll::kNoRank) continue;
        const coll::Neighbors theirs = grid.neighbors_of(edge.rank);
        EXPECT_EQ(theirs.sources[s ^ 1].rank, rank);
        EXPECT_EQ(theirs.sources[s ^ 1].number, edge.number);
      }
    }
  }
}

TEST(TopoGrid, edges_to_the_same_rank_are_numbered_in_their_order) {
  const int ranks[] = {3, 1, 3, 3, 1};
  const std::vector<coll::Edge> edges = numbered(ranks);
  const std::uint32_t wanted[] = {0, 0, 1, 2, 1};
  for (std::size_t i = 0; i < edges.size(); ++i) {
    EXPECT_EQ(edges[i].rank, ranks[i]);
    EXPECT_EQ(edges[i].number, wanted[i]);
  }
}

// The weight between hosts in a new order; checks that it is a permutation.
std::int64_t after(const Graph& graph, const std::vector<int>& order, const std::vector<int>& hosts) {
  std::vector<int> sorted = order, placed;
  std::sort(sorted.begin(), sorted.end());
  for (std::size_t i = 0; i < sorted.size(); ++i) EXPECT_EQ(sorted[i], static_cast<int>(i));
  for (const int old : order) placed.push_back(hosts[at(old)]);
  return crossing(graph, placed);
}

std::vector<int> by_blocks(int ranks, int per_host) {
  std::vector<int> hosts;
  for (int i = 0; i < ranks; ++i) hosts.push_back(i / per_host);
  return hosts;
}
std::vector<int> dealt(int ranks, int count) {
  std::vector<int> hosts;
  for (int i = 0; i < ranks; ++i) hosts.push_back(i % count);
  return hosts;
}

TEST(TopoReorder, a_host_gets_the_block_with_the_smallest_surface) {
  const Grid square{{8, 8}, {0, 0}}, cube{{8, 8, 8}, {0, 0, 0}}, torus{{6, 6}, {1, 1}};
  // Two cuts of eight edges, each counted from both sides. In rank order each host has two rows: three cuts.
  EXPECT_EQ(crossing(graph_of(square), by_blocks(64, 16)), 48);
  EXPECT_EQ(after(graph_of(square), reorder_grid(square, by_blocks(64, 16)), by_blocks(64, 16)), 32);
  EXPECT_EQ(after(graph_of(square), reorder_grid(square, dealt(64, 4)), dealt(64, 4)), 32);
  EXPECT_EQ(after(graph_of(cube), reorder_grid(cube, by_blocks(512, 64)), by_blocks(512, 64)), 3 * 64 * 2);
  // Blocks of 3 x 3: two borders in each dimension.
  EXPECT_EQ(after(graph_of(torus), reorder_grid(torus, dealt(36, 4)), dealt(36, 4)), 4 * 6 * 2);
}

TEST(TopoReorder, the_order_stays_where_there_is_nothing_to_gain) {
  const Grid grid{{4, 4}, {0, 0}};
  std::vector<int> same(16);
  std::iota(same.begin(), same.end(), 0);
  EXPECT_EQ(reorder_grid(grid, by_blocks(16, 16)), same);
  EXPECT_EQ(reorder_grid(grid, by_blocks(16, 1)), same);
  EXPECT_EQ(reorder_grid(grid, by_blocks(16, 8)), same);
}

TEST(TopoReorder, a_grid_never_gets_worse) {
  std::int64_t before_all = 0, after_all = 0;
  for (std::uint64_t seed = 1; seed <= 150; ++seed) {
    Prng prng(seed);
    const Grid grid = random_grid(prng);
    const auto count = 1 + prng.below(5);
    std::vector<int> hosts;
    for (int i = 0; i < grid.size(); ++i) hosts.push_back(static_cast<int>(prng.below(count)));
    const Graph graph = graph_of(grid);
    const std::int64_t before = crossing(graph, hosts);
    const std::int64_t now = after(graph, reorder_grid(grid, hosts), hosts);
    EXPECT_LE(now, before) << "seed " << seed;
    before_all += before;
    after_all += now;
  }
  EXPECT_LT(after_all * 3, before_all * 2);
}

// Cliques, each with one edge to the next, their vertices dealt out in a random order.
TEST(TopoReorder, cliques_of_a_graph_go_to_one_host_each) {
  constexpr int kCliques = 4, kVertices = 6, kAll = kCliques * kVertices;
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    Prng prng(seed);
    std::vector<int> names(kAll);
    std::iota(names.begin(), names.end(), 0);
    for (int i = kAll - 1; i > 0; --i)
      std::swap(names[at(i)], names[at(static_cast<int>(prng.below(static_cast<std::uint64_t>(i) + 1)))]);
    std::vector<std::vector<int>> to(kAll);
    for (int a = 0; a < kAll; ++a)
      for (int b = 0; b < kAll; ++b)
        if (a != b && (a / kVertices == b / kVertices || (a + 1 == b && b % kVertices == 0)))
          to[at(names[at(a)])].push_back(names[at(b)]);
    Graph graph;
    for (const std::vector<int>& peers : to) {
      graph.to.insert(graph.to.end(), peers.begin(), peers.end());
      graph.first.push_back(graph.to.size());
    }
    graph.weight.assign(graph.to.size(), 1);
    const std::vector<int> hosts = dealt(kAll, kCliques);
    EXPECT_EQ(after(graph, reorder_graph(graph, hosts), hosts), kCliques - 1) << "seed " << seed;
  }
}

TEST(TopoReorder, a_grid_given_as_a_graph_is_cut_into_compact_parts) {
  const Grid square{{4, 4}, {0, 0}};
  EXPECT_EQ(after(graph_of(square), reorder_graph(graph_of(square), by_blocks(16, 4)), by_blocks(16, 4)), 16);
}

TEST(TopoReorder, weights_count) {
  // A ring of four with two heavy edges: 0-3 and 1-2.
  Graph graph;
  graph.first = {0, 2, 4, 6, 8};
  graph.to = {1, 3, 0, 2, 1, 3, 2, 0};
  graph.weight = {1, 9, 1, 9, 9, 1, 1, 9};
  const std::vector<int> hosts = {0, 0, 1, 1};
  EXPECT_EQ(after(graph, reorder_graph(graph, hosts), hosts), 4);
}

}  // namespace
}  // namespace herald::mpi
