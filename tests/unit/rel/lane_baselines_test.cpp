// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong with Simple and Push-Pull Broadcast: a packet is lost, duplicated or out of order; a
// cast is suspended forever; the source waits for members that are dead or without multicast; a push does not
// wait.
#include "tests/unit/effort.hpp"
#include "tests/unit/rel/lane_world.hpp"

namespace herald::rel {
namespace {

LaneWorldConfig paper(LaneMode mode, int nodes, std::uint64_t seed) {
  LaneWorldConfig config;
  config.nodes = nodes;
  config.seed = seed;
  config.lanes.mode = mode;
  config.mesh.give_up = milliseconds(500);
  return config;
}

class LanePaper : public testing::TestWithParam<LaneMode> {};

TEST_P(LanePaper, nothing_is_lost_whatever_the_network_does) {
  for (std::uint64_t seed = 1; seed <= some_of(40); ++seed) {
    SCOPED_TRACE(seed);
    LaneWorldConfig config = paper(GetParam(), 2 + static_cast<int>(seed % 20), seed);
    config.loss = seed % 3 == 0 ? 0.05 : 0;
    config.common_loss = seed % 4 == 0 ? 0.02 : 0;
    config.duplicate = seed % 5 == 0 ? 0.05 : 0;
    config.reorder = seed % 7 == 0 ? 0.05 : 0;
    LaneWorld world(config);
    if (seed % 6 == 0) world.forwards = [](PeerId, PeerId to) { return to % 3 != 1; };
    world[0].cast(1, 300, 0);
    world[1].cast(1, 100, 40);
    ASSERT_TRUE(world.run(milliseconds(20'000),
                          [&] { return world.have(0, 300) && world.have(1, 100) && world.all_flushed(); }));
    expect_clean(world);
  }
}

TEST_P(LanePaper, a_member_that_dies_is_not_waited_for) {
  LaneWorld world(paper(GetParam(), 5, 3));
  world[0].cast(1, 2000, 0);
  world.run(milliseconds(2));
  world[1].dead = true;  // the designated member
  ASSERT_TRUE(world.run(milliseconds(20'000), [&] { return world.have(0, 2000) && world.all_flushed(); }));
  EXPECT_EQ(world[0].lost, (std::vector<PeerId>{1}));
}

// A member that went back once was served by unicast until the end of the stream; more such members delayed
// the acks of the others, so that everything was sent to everyone several times.
TEST_P(LanePaper, after_a_loss_the_group_is_used_again) {
  for (const std::uint64_t seed : {53, 62, 72, 252}) {
    if (kSanitized && seed != 72) continue;
    SCOPED_TRACE(seed);
    LaneWorldConfig config = paper(GetParam(), 8, seed);
    config.bits_per_second = 1e8;
    config.switch_bytes = 256 << 10;
    config.loss = 0.01;
    LaneWorld world(config);
    for (std::uint64_t call = 1; call <= 4; ++call) {
      world[0].cast(1, 730, 0);
      ASSERT_TRUE(world.run(milliseconds(500), [&] { return world.have(0, call * 730); }));
    }
    EXPECT_LT(world.kinds[5], 4 * 730 * 4);  // casts, those by unicast too
  }
}

INSTANTIATE_TEST_SUITE_P(All, LanePaper, testing::Values(LaneMode::simple, LaneMode::push_pull),
                         [](const auto& mode) {
                           return std::string(mode.param == LaneMode::simple ? "simple" : "push_pull");
                         });

TEST(LanePushPull, one_packet_then_a_pause_until_the_designated_member_has_it) {
  LaneWorld world(paper(LaneMode::push_pull, 6, 1));
  bool cut = true;
  world.drop = [&](PeerId from, PeerId, std::span<const std::byte>) { return cut && from == 1; };  // its acks
  world[0].cast(1, 10, 0);
  world.run(microseconds(400));
  EXPECT_EQ(world.kinds[5], 1u);  // casts
  cut = false;
  ASSERT_TRUE(world.run(milliseconds(500), [&] { return world.have(0, 10) && world.all_flushed(); }));
  expect_clean(world);
  EXPECT_GE(world[0].lanes.counters().suspended, 1u);
}

TEST(LaneSimple, members_send_no_naks) {
  LaneWorldConfig config = paper(LaneMode::simple, 4, 1);
  config.loss = 0.05;
  LaneWorld world(config);
  world[0].cast(1, 300, 0);
  ASSERT_TRUE(world.run(milliseconds(20'000), [&] { return world.have(0, 300) && world.all_flushed(); }));
  expect_clean(world);
  EXPECT_EQ(world.sum().naks_sent, 0u);
  EXPECT_GT(world[0].lanes.counters().go_backs, 0u);
}

}  // namespace
}  // namespace herald::rel
