// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: casts are lost, duplicated, out of order, never acknowledged, or acks cost too much.
#include "tests/unit/effort.hpp"
#include "tests/unit/rel/lane_world.hpp"

namespace herald::rel {
namespace {

TEST(LaneBasic, a_stream_reaches_all_members_complete_and_in_order) {
  for (const int nodes : {2, 3, 8, 16, 17, 64}) {
    LaneWorldConfig config;
    config.nodes = nodes;
    LaneWorld world(config);
    const std::uint64_t packets = some_of(2000);
    world[0].cast(1, packets, 0);
    ASSERT_TRUE(world.run(milliseconds(5000), [&] { return world.have(0, packets) && world.all_flushed(); }))
        << nodes;
    const LaneCounters all = world.sum();
    EXPECT_EQ(all.repaired_unicast + all.repaired_multicast + all.duplicates + all.naks_sent, 0u) << nodes;
    EXPECT_EQ(all.received, packets * static_cast<unsigned>(nodes - 1));
    for (PeerId id = 0; id < nodes; ++id) {
      EXPECT_EQ(world[id].wrong, 0u);
      EXPECT_EQ(world[id].lanes.buffered_bytes(), 0u);
      EXPECT_EQ(world[0].lanes.receives_multicast(world[0].ids[1], id), id != 0) << id << " of " << nodes;
    }
  }
}

TEST(LaneBasic, all_members_cast_at_once) {
  LaneWorldConfig config;
  config.nodes = 8;
  config.loss = 0.01;
  LaneWorld world(config);
  for (PeerId id = 0; id < 8; ++id) world[id].cast(1, 500, 0);
  ASSERT_TRUE(world.run(milliseconds(20'000), [&] {
    for (PeerId id = 0; id < 8; ++id)
      if (!world.have(id, 500)) return false;
    return world.all_flushed();
  }));
  for (PeerId id = 0; id < 8; ++id) EXPECT_EQ(world[id].wrong, 0u);
}

TEST(LaneBasic, one_ack_covers_many_single_casts) {
  LaneWorldConfig config;
  config.nodes = 8;
  LaneWorld world(config);
  for (int i = 0; i < 1000; ++i) {
    world[0].cast(1, 1, 8);
    world.run(microseconds(20));
  }
  ASSERT_TRUE(world.run(milliseconds(1000), [&] { return world.have(0, 1000) && world.all_flushed(); }));
  for (PeerId id = 1; id < 8; ++id) {
    EXPECT_EQ(world[id].wrong, 0u);
    EXPECT_LE(world[id].lanes.counters().acks_sent, 100u);
  }
}

// A member acknowledges each quarter of the window.
TEST(LaneBasic, a_small_window_needs_many_acks) {
  for (const std::uint32_t connections : {4u, 16u, 64u}) {
    LaneWorldConfig config;
    config.nodes = 3;
    config.lanes.window_packets = connections;
    LaneWorld world(config);
    bool deaf = true;
    world.cut = [&](PeerId from, PeerId to) { return deaf && (from == 2 || to == 2); };
    world[0].cast(1, 1000, 8);
    world.settle(0);
    world.run(milliseconds(100));
    EXPECT_LE((world[1].expected[{1, 0}]), connections) << "the source waits for the silent member";
    deaf = false;
    ASSERT_TRUE(world.run(milliseconds(5000), [&] { return world.have(0, 1000) && world.all_flushed(); }));
    const std::uint64_t acks = world[1].lanes.counters().acks_sent;
    EXPECT_LE(acks, 4000 / connections + 40) << connections;
    EXPECT_GE(acks, 1000 / connections) << connections;
  }
}

// A barrier: each member casts once it has the casts of all others. Acks ride on the casts.
TEST(LaneBasic, members_that_cast_in_turn_need_few_acks_of_their_own) {
  LaneWorldConfig config;
  config.nodes = 8;
  LaneWorld world(config);
  constexpr std::uint64_t kRounds = 500;
  for (PeerId id = 0; id < 8; ++id) {
    world[id].on_packet = [&world, id](std::uint64_t, PeerId) {
      LaneNode& node = world[id];
      LaneNode::Flow& flow = node.flows[node.ids[1]];
      for (PeerId other = 0; other < 8; ++other)
        if (other != id && node.expected[{1, other}] < flow.next) return;
      if (flow.next == kRounds) return;
      ++flow.packets;
      node.pump(node.ids[1]);
    };
  }
  for (PeerId id = 0; id < 8; ++id) world[id].cast(1, 1, 8);
  ASSERT_TRUE(world.run(milliseconds(1000), [&] {
    for (PeerId id = 0; id < 8; ++id)
      if (!world.have(id, kRounds)) return false;
    return true;
  }));
  EXPECT_LE(world.sum().acks_sent, 8 * 7 * 10u);
  EXPECT_LE(world.datagrams, 8 * kRounds + 8 * 7 * 10u);
  ASSERT_TRUE(world.run(milliseconds(1000), [&] { return world.all_flushed(); }));
}

struct Trouble {
  const char* name;
  int nodes;
  double loss, common, burst, duplicate, reorder, corrupt;
};

class LaneTrouble : public testing::TestWithParam<Trouble> {};

TEST_P(LaneTrouble, nothing_is_lost_doubled_or_wrong) {
  const Trouble& trouble = GetParam();
  for (std::uint64_t seed = 1; seed <= some_of(10); ++seed) {
    LaneWorldConfig config;
    config.seed = seed;
    config.nodes = trouble.nodes;
    config.loss = trouble.loss;
    config.common_loss = trouble.common;
    config.burst = trouble.burst;
    config.duplicate = trouble.duplicate;
    config.reorder = trouble.reorder;
    config.corrupt = trouble.corrupt;
    LaneWorld world(config);
    world[0].cast(1, 400, 900);
    world[1].cast(1, 100, 100);
    const PeerId last = trouble.nodes - 1;
    world[last].cast(1, 3, 0);
    ASSERT_TRUE(world.run(milliseconds(60'000),
                          [&] {
                            return world.have(0, 400) && world.have(1, last == 1 ? 103 : 100) &&
                                   (last == 1 || world.have(last, 3)) && world.all_flushed();
                          }))
        << "seed " << seed;
    for (PeerId id = 0; id < trouble.nodes; ++id) {
      EXPECT_EQ(world[id].wrong, 0u) << "seed " << seed;
      EXPECT_TRUE(world[id].lost.empty()) << "seed " << seed;
      EXPECT_EQ(world[id].lanes.buffered_bytes(), 0u) << "seed " << seed;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, LaneTrouble,
    testing::Values(Trouble{"loss1", 8, 0.01, 0, 0, 0, 0, 0}, Trouble{"loss10", 8, 0.1, 0, 0, 0, 0, 0},
                    Trouble{"loss30", 8, 0.3, 0, 0, 0, 0, 0}, Trouble{"two_loss30", 2, 0.3, 0, 0, 0, 0, 0},
                    Trouble{"common5", 8, 0, 0.05, 0, 0, 0, 0}, Trouble{"common30", 5, 0, 0.3, 0, 0, 0, 0},
                    Trouble{"bursts", 8, 0, 0, 0.01, 0, 0, 0}, Trouble{"reorder", 8, 0, 0, 0, 0, 0.3, 0},
                    Trouble{"duplicate", 8, 0, 0, 0, 0.3, 0, 0}, Trouble{"corrupt", 8, 0, 0, 0, 0, 0, 0.1},
                    Trouble{"all", 8, 0.05, 0.05, 0.003, 0.1, 0.1, 0.05},
                    Trouble{"tree_loss", 40, 0.03, 0.01, 0, 0, 0, 0},
                    Trouble{"tree_all", 24, 0.05, 0.05, 0.003, 0.1, 0.1, 0.05}),
    [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace herald::rel
