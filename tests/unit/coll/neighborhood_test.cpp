// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: several edges between the same two ranks take each other's blocks; an edge from a rank
// to itself copies the wrong block; a block of MPI_PROC_NULL is written; more edges than tags are mixed up;
// blocks of different sizes land at the wrong place; blocks that share a message between two hosts are mixed
// up, or travel one by one.
#include "coll/neighbors.hpp"

#include "cases.hpp"

namespace herald::coll {
namespace {

struct Scene {
  Op op = Op::neighbor_alltoall;
  int ranks = 1;
  bool gappy = false;
  std::int64_t scale = 1;            // of the length of blocks
  std::vector<Neighbors> neighbors;  // by rank
  const Cluster* cluster = nullptr;
  std::uint32_t shared_bytes = 0;

  bool gathers() const { return op == Op::neighbor_allgather || op == Op::neighbor_allgatherv; }
  bool has_counts() const { return op != Op::neighbor_allgather && op != Op::neighbor_alltoall; }
  const type::Layout& layout() const { return gappy ? gappy_layout() : dense_layout(); }
  // Items of an edge: known at both ends.
  std::int64_t count(int from, int to, const Edge& edge) const {
    if (op == Op::neighbor_allgather || op == Op::neighbor_alltoall) return 3 * scale;
    if (gathers()) return from % 4 * scale;
    return (from * 7 + to * 3 + static_cast<int>(edge.number)) % 5 * scale;
  }
  std::int64_t room() const { return 8 * scale; }  // items from the start of one block to the next
};

// Multi-edges and edges to itself included, and places without a neighbour.
Scene random_scene(Op op, int ranks, int edges, Prng& prng) {
  Scene scene;
  scene.op = op;
  scene.ranks = ranks;
  scene.gappy = prng.below(2) == 0;
  scene.neighbors.resize(static_cast<std::size_t>(ranks));
  std::map<std::pair<int, int>, std::uint32_t> seen;
  for (int i = 0; i < edges; ++i) {
    const auto n = static_cast<std::uint64_t>(ranks);
    const auto from = static_cast<int>(prng.below(n)), to = static_cast<int>(prng.below(n));
    const std::uint32_t number = seen[{from, to}]++;
    scene.neighbors[static_cast<std::size_t>(from)].destinations.push_back({to, number});
    scene.neighbors[static_cast<std::size_t>(to)].sources.push_back({from, number});
    if (prng.below(5) == 0) scene.neighbors[static_cast<std::size_t>(to)].sources.push_back({});
    if (prng.below(5) == 0) scene.neighbors[static_cast<std::size_t>(from)].destinations.push_back({});
  }
  return scene;
}

// Blocks lie room() items apart, the last one first, or packed where the call has no counts.
void place(const Scene& s, const std::vector<Edge>& edges, bool sends, int rank, Blocks& blocks,
           std::vector<std::int64_t>& counts, std::vector<std::int64_t>& displs,
           std::vector<const type::Layout*>& layouts) {
  blocks.layout = &s.layout();
  blocks.count = s.count(rank, rank, {});
  if (!s.has_counts() || (sends && s.gathers())) return;
  const auto n = static_cast<std::int64_t>(edges.size());
  for (std::int64_t i = 0; i < n; ++i) {
    const Edge& edge = edges[static_cast<std::size_t>(i)];
    const int peer = edge.rank == kNoRank ? rank : edge.rank;
    counts.push_back(sends ? s.count(rank, peer, edge) : s.count(peer, rank, edge));
    displs.push_back((n - 1 - i) * s.room() * (s.op == Op::neighbor_alltoallw ? s.layout().extent() : 1));
    layouts.push_back(&s.layout());
  }
  blocks.counts = counts.data();
  blocks.displacements = displs.data();
  if (s.op == Op::neighbor_alltoallw) blocks.layouts = layouts.data();
}

std::int64_t item_of(const Scene& s, const std::vector<Edge>& edges, std::int64_t block) {
  const auto n = static_cast<std::int64_t>(edges.size());
  return s.has_counts() ? (n - 1 - block) * s.room() : block * s.count(0, 0, {});
}

// The item that `edge` carries at index i.
Item carried(const Scene& s, int from, int to, const Edge& edge, std::int64_t i) {
  return s.gathers() ? made_up(from, 0, i) : made_up(from, to, edge.number * 100 + i);
}

void prepare(const Scene& s, int rank, Member& m) {
  const Neighbors& mine = s.neighbors[static_cast<std::size_t>(rank)];
  const type::Layout& layout = s.layout();
  const auto room =
      static_cast<std::int64_t>(std::max(mine.sources.size(), mine.destinations.size()) + 1) * s.room();
  m.send = Memory(layout, room);
  m.recv = Memory(layout, room);
  m.spec.op = s.op;
  m.spec.rank = rank;
  m.spec.size = s.ranks;
  m.spec.neighbors = &mine;
  m.spec.cluster = s.cluster;
  m.spec.shared_bytes = s.shared_bytes;
  m.spec.send.buffer = Buffer::send;
  m.spec.recv.buffer = Buffer::recv;
  place(s, mine.destinations, true, rank, m.spec.send, m.send_counts, m.send_displs, m.send_layouts);
  place(s, mine.sources, false, rank, m.spec.recv, m.recv_counts, m.recv_displs, m.recv_layouts);
  if (s.gathers())
    for (std::int64_t i = 0; i < s.room(); ++i) m.send.set(i * layout.extent(), layout, made_up(rank, 0, i));
  for (std::size_t b = 0; b < mine.destinations.size() && !s.gathers(); ++b) {
    const Edge& edge = mine.destinations[b];
    const int peer = edge.rank == kNoRank ? rank : edge.rank;
    for (std::int64_t i = 0; i < s.count(rank, peer, edge); ++i)
      m.send.set((item_of(s, mine.destinations, static_cast<std::int64_t>(b)) + i) * layout.extent(), layout,
                 carried(s, rank, peer, edge, i));
  }
}

void check(const Scene& s, int rank, const Member& m) {
  const Neighbors& mine = s.neighbors[static_cast<std::size_t>(rank)];
  const type::Layout& layout = s.layout();
  const Item blank = Memory(layout, 1).get(0, layout);
  for (std::size_t b = 0; b < mine.sources.size(); ++b) {
    const Edge& edge = mine.sources[b];
    const bool exists = edge.rank != kNoRank;
    const std::int64_t count = s.count(exists ? edge.rank : rank, rank, edge);
    for (std::int64_t i = 0; i < count; ++i)
      ASSERT_EQ(
          m.recv.get((item_of(s, mine.sources, static_cast<std::int64_t>(b)) + i) * layout.extent(), layout),
          exists ? carried(s, edge.rank, rank, edge, i) : blank)
          << "rank " << rank << " block " << b << " item " << i;
  }
  ASSERT_TRUE(m.recv.gaps_intact());
}

void run_scene(const Scene& scene, Prng& prng) {
  std::vector<Member> members(static_cast<std::size_t>(scene.ranks));
  for (int r = 0; r < scene.ranks; ++r) prepare(scene, r, members[static_cast<std::size_t>(r)]);
  std::string why;
  ASSERT_TRUE(run_job(kNeighborhood, members, sum, prng, why)) << why;
  for (int r = 0; r < scene.ranks; ++r) check(scene, r, members[static_cast<std::size_t>(r)]);
}

std::vector<std::vector<Edge>> all_destinations(const Scene& scene) {
  std::vector<std::vector<Edge>> destinations;
  for (const Neighbors& neighbors : scene.neighbors) destinations.push_back(neighbors.destinations);
  return destinations;
}

// Ranks on up to `most` hosts, in any order.
std::vector<int> random_hosts(Scene& scene, std::uint64_t most, Prng& prng) {
  std::vector<int> hosts;
  for (int r = 0; r < scene.ranks; ++r) hosts.push_back(static_cast<int>(prng.below(most)));
  const std::vector<std::vector<Edge>> destinations = all_destinations(scene);
  for (int r = 0; r < scene.ranks; ++r)
    learn_all_edges(scene.neighbors[static_cast<std::size_t>(r)], hosts, r, destinations);
  return hosts;
}

// Messages and edges from one host to another.
struct Traffic {
  int messages = 0, edges = 0;
};
std::map<std::pair<int, int>, Traffic> traffic(const Scene& scene, const std::vector<int>& hosts) {
  std::map<std::pair<int, int>, Traffic> all;
  for (int r = 0; r < scene.ranks; ++r) {
    Member m;
    prepare(scene, r, m);
    const int own = hosts[static_cast<std::size_t>(r)];
    const auto between = [&](int peer) -> Traffic& {
      return all[{own, hosts[static_cast<std::size_t>(peer)]}];
    };
    const Plan plan = make_plan(kNeighborhood, m.spec);
    for (std::uint32_t i = 0; i < plan.size(); ++i)
      if (plan.steps[i].kind == StepKind::send) ++between(plan.steps[i].partner).messages;
    for (const Edge& edge : m.spec.neighbors->destinations)
      if (edge.rank != kNoRank) ++between(edge.rank).edges;
  }
  return all;
}

constexpr Op kNeighborOps[] = {Op::neighbor_allgather, Op::neighbor_allgatherv, Op::neighbor_alltoall,
                               Op::neighbor_alltoallv, Op::neighbor_alltoallw};

TEST(CollNeighborhood, random_graphs_against_the_definition) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed)
    for (const Op op : kNeighborOps)
      for (const int ranks : {1, 2, 3, 7}) {
        SCOPED_TRACE(std::string(name_of(op)) + " ranks " + std::to_string(ranks) + " seed " +
                     std::to_string(seed));
        Prng prng(seed);
        run_scene(random_scene(op, ranks, static_cast<int>(prng.below(25)), prng), prng);
        if (HasFatalFailure()) return;
      }
}

TEST(CollNeighborhood, more_edges_between_two_ranks_than_tags) {
  Prng prng(5);
  for (const Op op : kNeighborOps) run_scene(random_scene(op, 2, 1500, prng), prng);
}

TEST(CollNeighborhood, blocks_between_two_hosts_share_a_message) {
  int shared = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed)
    for (const Op op : kNeighborOps)
      for (const int ranks : {4, 9, 13}) {
        SCOPED_TRACE(std::string(name_of(op)) + " ranks " + std::to_string(ranks) + " seed " +
                     std::to_string(seed));
        Prng prng(seed);
        Scene scene = random_scene(op, ranks, ranks * 4 + static_cast<int>(prng.below(60)), prng);
        const std::vector<int> hosts = random_hosts(scene, 4, prng);
        run_scene(scene, prng);
        if (HasFatalFailure()) return;
        if (scene.neighbors[0].hosts == nullptr) continue;
        for (const auto& [pair, crossing] : traffic(scene, hosts)) {
          if (pair.first == pair.second || crossing.edges < 3) continue;
          EXPECT_EQ(crossing.messages, 1) << crossing.edges << " edges";
          ++shared;
        }
      }
  EXPECT_GT(shared, 300);
}

// Only the two ends of an edge know whether its block is short enough to share a message.
TEST(CollNeighborhood, long_blocks_between_two_hosts_leave_alone) {
  int mixed = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed)
    for (const Op op : {Op::neighbor_allgatherv, Op::neighbor_alltoallv, Op::neighbor_alltoallw}) {
      SCOPED_TRACE(std::string(name_of(op)) + " seed " + std::to_string(seed));
      Prng prng(seed);
      Scene scene = random_scene(op, 7, 40, prng);
      scene.scale = 80;
      const std::vector<int> hosts = random_hosts(scene, 3, prng);
      run_scene(scene, prng);
      if (HasFatalFailure()) return;
      if (scene.neighbors[0].hosts == nullptr) continue;
      for (const auto& [pair, crossing] : traffic(scene, hosts))
        if (pair.first != pair.second && crossing.messages > 1 && crossing.messages < crossing.edges) ++mixed;
    }
  EXPECT_GT(mixed, 20);
}

TEST(CollNeighborhood, blocks_are_read_from_shared_memory_on_one_host) {
  int shared = 0;
  for (std::uint64_t seed = 1; seed <= 60; ++seed)
    for (const Op op : kNeighborOps)
      for (const int ranks : {2, 3, 9}) {
        SCOPED_TRACE(std::string(name_of(op)) + " ranks " + std::to_string(ranks) + " seed " +
                     std::to_string(seed));
        Prng prng(seed);
        Cluster cluster(std::vector<int>(static_cast<std::size_t>(ranks), 0));
        cluster.reads_peers = true;
        Scene scene = random_scene(op, ranks, ranks * 4 + static_cast<int>(prng.below(20)), prng);
        (void)random_hosts(scene, 1, prng);
        scene.cluster = &cluster;
        scene.shared_bytes = kSharedBytes;
        run_scene(scene, prng);
        if (HasFatalFailure()) return;
        Member m;
        prepare(scene, 0, m);
        shared += make_plan(kNeighborhood, m.spec).shared ? 1 : 0;
      }
  EXPECT_GT(shared, 200);
}

TEST(CollNeighborhood, sizes_may_differ_in_topologies_of_several_parts) {
  const std::vector<int> hosts = {0, 0, 1, 1};
  const std::vector<std::vector<Edge>> parts = {{{2, 0}}, {{3, 0}}, {}, {}},
                                       joined = {{{2, 0}, {3, 0}}, {{3, 0}}, {}, {}};
  Neighbors apart, together;
  learn_all_edges(apart, hosts, 0, parts);
  learn_all_edges(together, hosts, 3, joined);
  EXPECT_EQ(apart.hosts, nullptr);
  ASSERT_NE(together.hosts, nullptr);
  EXPECT_EQ(together.hosts->edges.size(), 3u);
  EXPECT_FALSE(wants_all_edges(std::vector<int>{0, 1, 2}));
}

}  // namespace
}  // namespace herald::coll
