// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a lane that changes its address loses packets, leaves members behind, or stays with
// unicast; members that change it at the same time end at different addresses.
#include "tests/unit/effort.hpp"
#include "tests/unit/rel/lane_world.hpp"

namespace herald::rel {
namespace {

// A member at another address receives no multicast. `movers` change the address in the middle of a stream.
void moves(std::uint64_t seed, int nodes, double loss, const std::vector<PeerId>& movers) {
  LaneWorldConfig config;
  config.nodes = nodes;
  config.seed = seed;
  config.loss = loss;
  config.mesh.give_up = milliseconds(500);
  LaneWorld world(config);
  world.forwards = [&](PeerId from, PeerId to) { return world[from].address == world[to].address; };
  world[0].cast(1, 1500, 0);
  world.run(milliseconds(5));
  for (std::size_t i = 0; i < movers.size(); ++i) {
    LaneNode& node = world[movers[i]];
    for (std::size_t k = 0; k <= i % 2; ++k) node.lanes.use_next_address(node.ids[1]);
    world.settle(movers[i]);
  }
  ASSERT_TRUE(world.run(milliseconds(5000), [&] { return world.have(0, 1500) && world.all_flushed(); }));
  const std::uint8_t last = movers.size() > 1 ? 2 : 1;
  for (PeerId id = 0; id < nodes; ++id) {
    EXPECT_EQ(world[id].wrong, 0u) << id;
    EXPECT_TRUE(world[id].lost.empty()) << id;
    EXPECT_EQ(world[id].address, last) << id;
  }
  // Multicast goes on: few packets left by unicast.
  EXPECT_LE(world[0].lanes.counters().repaired_unicast, static_cast<std::uint64_t>(300 * nodes));
  const std::uint64_t by_group = world.by_group;
  world[0].cast(1, 100, 0);
  ASSERT_TRUE(world.run(milliseconds(5000), [&] { return world.have(0, 1600) && world.all_flushed(); }));
  EXPECT_GE(world.by_group - by_group, 100u);
}

TEST(LaneAddress, all_members_follow_the_highest_address_index) {
  for (std::uint64_t seed = 1; seed <= some_of(8); ++seed) {
    SCOPED_TRACE(seed);
    moves(seed, 5, seed % 2 == 0 ? 0.02 : 0, {0});           // the source
    moves(seed, 5, seed % 2 == 0 ? 0.02 : 0, {3});           // a member that casts nothing
    moves(seed, 6, seed % 2 == 0 ? 0.02 : 0, {1, 4, 0, 5});  // several members, to different addresses
    if (seed <= some_of(2)) moves(seed, 24, 0, {17});        // acks by a tree
  }
}

TEST(LaneAddress, there_is_a_last_address) {
  LaneWorld world({});
  LaneNode& node = world[0];
  for (int i = 0; i < 10; ++i) node.lanes.use_next_address(node.ids[1]);
  EXPECT_EQ(node.address, Lanes::kLastAddressIndex);
  EXPECT_EQ(node.lanes.counters().address_changes, 3u);
  node.lanes.set_address_index(node.ids[1], 1);
  EXPECT_EQ(node.address, Lanes::kLastAddressIndex);
}

}  // namespace
}  // namespace herald::rel
