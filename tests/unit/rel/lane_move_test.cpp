// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a lane that moves to another address loses packets, leaves members behind, or goes on
// by unicast for ever; members that move at once end at different addresses.
#include "tests/unit/effort.hpp"
#include "tests/unit/rel/lane_world.hpp"

namespace herald::rel {
namespace {

// Whoever is at another address does not hear. The lane is moved by `movers` in the middle of a stream.
void moves(std::uint64_t seed, int nodes, double loss, const std::vector<PeerId>& movers) {
  LaneWorldConfig config;
  config.nodes = nodes;
  config.seed = seed;
  config.loss = loss;
  config.lanes.give_up = milliseconds(500);
  LaneWorld world(config);
  world.forwards = [&](PeerId from, PeerId to) { return world[from].address == world[to].address; };
  world[0].cast(1, 1500, 0);
  world.run(milliseconds(5));
  for (std::size_t i = 0; i < movers.size(); ++i) {
    LaneNode& node = world[movers[i]];
    for (std::size_t k = 0; k <= i % 2; ++k) node.lanes.move_on(node.ids[1]);
    world.settle(movers[i]);
  }
  ASSERT_TRUE(world.run(milliseconds(5000), [&] { return world.have(0, 1500) && world.all_flushed(); }));
  const std::uint8_t last = movers.size() > 1 ? 2 : 1;
  for (PeerId id = 0; id < nodes; ++id) {
    EXPECT_EQ(world[id].wrong, 0u) << id;
    EXPECT_TRUE(world[id].lost.empty()) << id;
    EXPECT_EQ(world[id].address, last) << id;
  }
  // Multicast goes on: little went to single members.
  EXPECT_LE(world[0].lanes.counters().repaired_one, static_cast<std::uint64_t>(300 * nodes));
  const std::uint64_t by_group = world.by_group;
  world[0].cast(1, 100, 0);
  ASSERT_TRUE(world.run(milliseconds(5000), [&] { return world.have(0, 1600) && world.all_flushed(); }));
  EXPECT_GE(world.by_group - by_group, 100u);
}

TEST(LaneMove, all_follow_whoever_moves) {
  for (std::uint64_t seed = 1; seed <= some_of(8); ++seed) {
    SCOPED_TRACE(seed);
    moves(seed, 5, seed % 2 == 0 ? 0.02 : 0, {0});           // the source
    moves(seed, 5, seed % 2 == 0 ? 0.02 : 0, {3});           // one that only listens
    moves(seed, 6, seed % 2 == 0 ? 0.02 : 0, {1, 4, 0, 5});  // several, not to the same
    if (seed <= some_of(2)) moves(seed, 24, 0, {17});        // acks by a tree
  }
}

TEST(LaneMove, there_is_a_last_address) {
  LaneWorld world({});
  LaneNode& node = world[0];
  for (int i = 0; i < 10; ++i) node.lanes.move_on(node.ids[1]);
  EXPECT_EQ(node.address, Lanes::kLastMove);
  EXPECT_EQ(node.lanes.counters().moved, 3u);
  node.lanes.set_move(node.ids[1], 1);
  EXPECT_EQ(node.address, Lanes::kLastMove);
}

}  // namespace
}  // namespace herald::rel
