// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong with casts that are received together: one that is missing, forged or of another source
// takes its neighbours with it; a hole at an end of a train is not noticed; a train costs an ack for each
// packet; the window does not follow a fast link, or does not shrink when packets get lost.
#include "tests/unit/effort.hpp"
#include "tests/unit/rel/lane_world.hpp"

namespace herald::rel {
namespace {

LaneWorldConfig fast_config(std::size_t train) {
  LaneWorldConfig config;
  config.nodes = 4;
  config.bits_per_second = 10e9;
  config.delay = microseconds(20);
  config.train = train;
  config.lanes.window_packets = config.lanes.held_packets = 1024;
  return config;
}

// Which packets of each train of eight a member does not get.
struct Missing {
  const char* what;
  std::uint32_t mask;
};

TEST(LaneTrain, every_hole_in_a_train_is_repaired) {
  for (const Missing& missing : {Missing{"middle", 0x10},
                                 {"first", 0x01},
                                 {"last", 0x80},
                                 {"both ends", 0x81},
                                 {"all but one", 0xf7},
                                 {"whole train", 0xff}})
    for (const std::size_t train : {1u, 3u, 8u}) {
      LaneWorld world(fast_config(train));
      std::set<std::uint32_t> once;
      world.drop = [&](PeerId, PeerId to, std::span<const std::byte> datagram) {
        const auto& head = wire::part_at<wire::DatagramHead>(datagram);
        const std::uint32_t seq = head.seq;
        return to == 2 && head.kind == static_cast<std::uint8_t>(wire::DatagramKind::cast) &&
               seq / 8 % 4 == 1 && (missing.mask >> seq % 8 & 1) != 0 && once.insert(seq).second;
      };
      world[0].cast(1, 800, 0);
      ASSERT_TRUE(world.run(milliseconds(2000), [&] { return world.have(0, 800) && world.all_flushed(); }))
          << missing.what << ", trains of " << train;
      for (PeerId id = 1; id < 4; ++id) EXPECT_EQ(world[id].wrong, 0u) << missing.what;
      EXPECT_EQ(world[2].lanes.counters().received, 800u);
    }
}

TEST(LaneTrain, faults_and_several_sources_do_not_disturb_each_other) {
  for (std::uint64_t seed = 1; seed <= some_of(20); ++seed) {
    LaneWorldConfig config = fast_config(8);
    config.seed = seed;
    config.loss = 0.02;
    config.burst = 0.001;
    config.corrupt = 0.02;
    config.duplicate = 0.02;
    config.reorder = 0.05;
    LaneWorld world(config);
    for (PeerId id = 0; id < 4; ++id) world[id].cast(1, 400, 0);
    ASSERT_TRUE(world.run(milliseconds(20'000), [&] {
      for (PeerId id = 0; id < 4; ++id)
        if (!world.have(id, 400)) return false;
      return world.all_flushed();
    })) << seed;
    for (PeerId id = 0; id < 4; ++id) EXPECT_EQ(world[id].wrong, 0u) << seed;
    EXPECT_GT(world.sum().forged + world.sum().malformed, 0u) << "some were corrupt";
  }
}

TEST(LaneTrain, an_ack_is_sent_for_several_trains) {
  LaneWorld world(fast_config(8));
  world[0].cast(1, 8000, 0);
  ASSERT_TRUE(world.run(milliseconds(2000), [&] { return world.have(0, 8000) && world.all_flushed(); }));
  for (PeerId id = 1; id < 4; ++id) EXPECT_LE(world[id].lanes.counters().acks_sent, 8000u / 44);
}

// The window of a fast link holds more than a switch would take from a slow one; losses take it back.
TEST(LaneTrain, the_pipe_grows_on_a_fast_link_and_shrinks_with_losses) {
  for (const bool lossy : {false, true}) {
    LaneWorldConfig config = fast_config(8);
    config.loss = lossy ? 0.02 : 0;
    LaneWorld world(config);
    std::uint64_t most = 0;
    bool begun = false;
    world[1].on_packet = [&](std::uint64_t, PeerId) { begun = true; };
    world[0].cast(1, 20'000, 0);
    ASSERT_TRUE(world.run(milliseconds(5000), [&] {
      const auto& flow = world[0].flows.begin()->second;
      const std::uint64_t came = world[1].expected[{1, 0}];
      if (begun && came > 4000) most = std::max(most, flow.next - came);
      return world.have(0, 20'000);
    }));
    if (lossy)
      EXPECT_LE(most, 1024u);
    else
      EXPECT_GT(most, 192u);
  }
}

}  // namespace
}  // namespace herald::rel
