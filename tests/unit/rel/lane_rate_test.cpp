// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a cast takes longer than the link needs: the window is too small, acks or repairs
// delay it, a loss stops the stream, a lost tail is found late.
#include "tests/unit/effort.hpp"
#include "tests/unit/rel/lane_world.hpp"

namespace herald::rel {
namespace {

constexpr std::uint64_t kPackets = 729;  // 1 MiB in packets of 1440 bytes

LaneWorldConfig fast_ethernet(int nodes) {
  LaneWorldConfig config;
  config.nodes = nodes;
  config.bits_per_second = 1e8;
  config.delay = microseconds(50);
  return config;
}

double link_ms(const LaneWorldConfig& config) {
  return static_cast<double>(kPackets) * (1472 + 66) * 8e3 / config.bits_per_second;
}

// Until the last member has the last packet.
double cast_ms(LaneWorld& world) {
  const Instant begin = world.now();
  const std::uint64_t before = world[1].expected[{1, 0}];
  world[0].cast(1, kPackets, 0);
  EXPECT_TRUE(world.run(milliseconds(10'000), [&] { return world.have(0, before + kPackets); }));
  return static_cast<double>((world.now() - begin).ns) / 1e6;
}

TEST(LaneRate, a_mebibyte_takes_the_time_of_the_link) {
  for (const int nodes : {2, 8, 16, 40}) {
    if (kSanitized && nodes > 8) continue;
    const LaneWorldConfig config = fast_ethernet(nodes);
    LaneWorld world(config);
    EXPECT_LE(cast_ms(world), 1.03 * link_ms(config)) << nodes;
    EXPECT_LE(cast_ms(world), 1.03 * link_ms(config)) << nodes;
  }
}

TEST(LaneRate, a_gigabit_link_is_filled) {
  LaneWorldConfig config = fast_ethernet(8);
  config.bits_per_second = 1e9;
  LaneWorld world(config);
  EXPECT_LE(cast_ms(world), 1.05 * link_ms(config));
}

// Whatever the program, buffers and the switch do, casts never seem faster than the link.
TEST(LaneRate, the_proven_rate_is_at_most_that_of_the_link) {
  for (const double bits : {1e8, 1e9, 1e10}) {
    LaneWorldConfig config = fast_ethernet(4);
    config.bits_per_second = bits;
    config.lanes.window_packets = config.lanes.held_packets = 1024;
    LaneWorld world(config);
    EXPECT_EQ(world[0].lanes.counters().proven_rate, 0u);
    std::uint64_t sent = 0;
    for (const std::uint64_t packets : {1u, 20u, 46u, 300u, 1000u, 46u}) {
      world[0].cast(1, packets, 0);
      sent += packets;
      ASSERT_TRUE(world.run(milliseconds(10'000), [&] { return world.have(0, sent); }));
      EXPECT_LE(static_cast<double>(world[0].lanes.counters().proven_rate), bits / 8);
    }
    EXPECT_GE(static_cast<double>(world[0].lanes.counters().proven_rate), 0.25 * bits / 8);
  }
}

TEST(LaneRate, one_percent_loss_costs_little_more_than_its_repairs) {
  double sum = 0, worst = 0;
  constexpr int kSeeds = static_cast<int>(some_of(20));
  const LaneWorldConfig config = fast_ethernet(8);
  for (int seed = 1; seed <= kSeeds; ++seed) {
    LaneWorldConfig lossy = config;
    lossy.seed = static_cast<std::uint64_t>(seed);
    lossy.loss = 0.01;
    LaneWorld world(lossy);
    const double ms = cast_ms(world);
    sum += ms;
    worst = std::max(worst, ms);
  }
  EXPECT_LE(sum / kSeeds, 1.10 * link_ms(config));
  EXPECT_LE(worst, 1.15 * link_ms(config));
}

TEST(LaneRate, a_packet_that_all_members_lose_is_repaired_once) {
  LaneWorldConfig config = fast_ethernet(8);
  config.common_loss = 0.01;
  LaneWorld world(config);
  EXPECT_LE(cast_ms(world), 1.06 * link_ms(config));
  const LaneCounters& source = world[0].lanes.counters();
  EXPECT_GT(source.repaired_multicast, 0u);
  EXPECT_LE(source.repaired_unicast + source.repaired_multicast, 20u);
}

// One member loses the last packet: only the source can notice.
TEST(LaneRate, a_lost_tail_is_found_within_a_few_round_trips) {
  for (const std::uint64_t packets : {1u, 3u, 40u}) {
    LaneWorldConfig config;
    config.nodes = 8;
    LaneWorld world(config);
    for (int i = 0; i < 200; ++i) {  // to measure the round trip
      world[0].cast(1, 1, 8);
      world.run(microseconds(100));
    }
    world.run(milliseconds(50));
    std::uint64_t left = packets;
    world.drop = [&](PeerId, PeerId to, std::span<const std::byte> datagram) {
      if (to != 5 || datagram[1] != std::byte{5} || left == 0) return false;
      --left;
      return left == 0;
    };
    const Instant begin = world.now();
    world[0].cast(1, packets, 8);
    ASSERT_TRUE(world.run(milliseconds(1000), [&] { return world.have(0, 200 + packets); }));
    EXPECT_LE((world.now() - begin).ns / 1000, 10 * 100) << packets;  // a round trip is 100 us
  }
}

}  // namespace
}  // namespace herald::rel
