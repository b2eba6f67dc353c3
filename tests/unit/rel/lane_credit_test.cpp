// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a source exceeds a member's memory, stops too early, or waits forever for credit;
// lanes that share little memory starve each other.
#include "tests/unit/effort.hpp"
#include "tests/unit/rel/lane_world.hpp"

namespace herald::rel {
namespace {

// All casts are acknowledged, so no ack brings the credit; and the ack that granted it is lost.
TEST(LaneCredit, a_source_without_credit_asks_for_it) {
  LaneWorldConfig config = small(3);
  config.lanes.window_packets = 8;
  LaneWorld world(config);
  bool takes = false, deafened = false;
  world[2].gate = [&](PeerId) { return takes; };
  world[0].cast(1, 8, 0);
  world.run(milliseconds(200));
  world.drop = [&](PeerId from, PeerId, std::span<const std::byte>) { return deafened && from == 2; };
  takes = deafened = true;
  world[2].lanes.redeliver();
  world.settle(2);
  world.run(milliseconds(20));
  deafened = false;
  world[0].cast(1, 8, 0);
  ASSERT_TRUE(world.run(milliseconds(200), [&] { return world[2].got == 16 && world.all_flushed(); }));
  expect_clean(world);
}

// Sockets buffer different amounts: a source obeys the credit that it is granted.
TEST(LaneCredit, a_member_with_a_small_socket_buffer_keeps_the_source_at_its_first_window) {
  LaneWorldConfig config = small(4);
  config.held[2] = 24;
  LaneWorld world(config);
  bool takes = false;
  world[2].gate = [&](PeerId) { return takes; };
  world[0].cast(1, 1000, 0);
  world.run(milliseconds(500));
  EXPECT_EQ((world[1].expected[{1, 0}]), config.lanes.first_packets);
  takes = true;
  world[2].lanes.redeliver();
  world.settle(2);
  ASSERT_TRUE(world.run(milliseconds(1000), [&] { return world.have(0, 1000) && world.all_flushed(); }));
  takes = false;
  world[0].cast(1, 1000, 0);
  world.run(milliseconds(500));
  EXPECT_EQ((world[1].expected[{1, 0}]), 1000 + 24u);
  takes = true;
  world[2].lanes.redeliver();
  world.settle(2);
  ASSERT_TRUE(world.run(milliseconds(1000), [&] { return world.have(0, 2000) && world.all_flushed(); }));
  expect_clean(world);
}

TEST(LaneCredit, a_listener_that_refuses_stops_the_source_exactly_at_its_credit) {
  LaneWorldConfig config = small(4);
  config.lanes.kept_bytes = 1 << 20;
  LaneWorld world(config);
  bool takes = false;
  world[2].gate = [&](PeerId) { return takes; };
  world[0].cast(1, 1000, 0);
  world.run(milliseconds(2000));
  EXPECT_EQ((world[1].expected[{1, 0}]), config.lanes.window_packets);
  EXPECT_EQ(world[2].got, 0u);
  EXPECT_LE(world[2].lanes.buffered_bytes(), config.lanes.kept_bytes);
  EXPECT_TRUE(world[0].lost.empty());
  takes = true;
  world[2].lanes.redeliver();
  world.settle(2);
  ASSERT_TRUE(world.run(milliseconds(1000), [&] { return world.have(0, 1000) && world.all_flushed(); }));
  expect_clean(world);
}

TEST(LaneCredit, many_lanes_and_sources_share_little_memory) {
  LaneWorldConfig config = small(6);
  config.all_open = false;
  config.loss = 0.02;
  config.lanes.log_bytes = 256 << 10;
  config.lanes.kept_bytes = 256 << 10;
  LaneWorld world(config);
  for (std::uint64_t lane = 1; lane <= 12; ++lane)
    for (PeerId id = 0; id < 6; ++id) {
      std::vector<PeerId> members;  // in another order for each lane
      for (PeerId i = 0; i < 6; ++i) members.push_back((i * 5 + static_cast<PeerId>(lane)) % 6);
      world[id].open(lane << 33 | lane, members);
    }
  for (std::uint64_t lane = 1; lane <= 12; ++lane)
    for (PeerId id = 0; id < 6; ++id) world[id].cast(lane << 33 | lane, 40, 0);
  const auto done = [&] {
    for (PeerId id = 0; id < 6; ++id)
      if (world[id].got != 12 * 5 * 40) return false;
    return world.all_flushed();
  };
  std::uint64_t most = 0;
  ASSERT_TRUE(world.run(milliseconds(30'000), [&] {
    for (PeerId id = 0; id < 6; ++id) most = std::max(most, world[id].lanes.buffered_bytes());
    return done();
  }));
  EXPECT_LE(most, (512u << 10) + 12 * 1536) << "and one packet of each lane";
  expect_clean(world);
}

TEST(LaneCredit, a_lane_that_no_member_has_opened_yet_leaves_memory_for_others) {
  LaneWorldConfig config = small(3);
  config.all_open = false;
  config.lanes.log_bytes = 32 << 10;
  LaneWorld world(config);
  world[0].open(1, {0, 1, 2});
  world[0].cast(1, 60, 1000);
  world.run(milliseconds(20));
  EXPECT_FALSE(world[0].lanes.is_flushed());
  for (PeerId id = 0; id < 3; ++id) world[id].open(2, {0, 1, 2});
  world[0].cast(2, 30, 1000);
  ASSERT_TRUE(world.run(milliseconds(2000), [&] { return world.have(0, 30, 2); }));
  for (PeerId id = 1; id < 3; ++id) world[id].open(1, {0, 1, 2});
  ASSERT_TRUE(world.run(milliseconds(5000), [&] { return world.have(0, 60, 1) && world.all_flushed(); }));
  expect_clean(world);
}

}  // namespace
}  // namespace herald::rel
