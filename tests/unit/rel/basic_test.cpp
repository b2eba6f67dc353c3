// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: packets are lost, duplicated, out of order, never acknowledged, or need too many acks.
#include "rel/connection.hpp"
#include "rel/link.hpp"
#include "tests/unit/effort.hpp"
#include "tests/unit/rel/world.hpp"

namespace herald::rel {
namespace {

TEST(RelBasic, a_stream_arrives_whole_and_in_order) {
  World world({});
  world[0].send(1, 5000, 700);
  ASSERT_TRUE(world.run(milliseconds(5000), [&] { return world[1].got_packets == 5000; }));
  EXPECT_EQ(world[1].wrong, 0u);
  EXPECT_EQ(world[0].mesh.counters().resent, 0u);
  ASSERT_TRUE(world.run(milliseconds(100), [&] { return world.all_flushed(); }));
  EXPECT_EQ(world[0].mesh.buffered_bytes(), 0u);
}

TEST(RelBasic, ping_pong_needs_no_separate_acks) {
  World world({});
  int rounds = 0;
  world[1].on_packet = [&](PeerId) {
    ++world[1].flows[0].packets, world[1].flows[0].bytes = 8, world[1].pump(0);
  };
  world[0].on_packet = [&](PeerId) {
    ++rounds;
    if (rounds < 1000) ++world[0].flows[1].packets, world[0].pump(1);
  };
  world[0].send(1, 1, 8);
  ASSERT_TRUE(world.run(milliseconds(5000), [&] { return rounds == 1000; }));
  EXPECT_EQ(world[0].mesh.counters().acks_sent + world[1].mesh.counters().acks_sent, 0u);
  EXPECT_EQ(world.datagrams, 2000u);
}

// An ack costs both sides of a small packet: only some of the packets carry one.
TEST(RelBasic, quick_ping_pong_carries_few_acks) {
  WorldConfig config;
  config.delay = microseconds(1);
  World world(config);
  int rounds = 0, with_ack = 0;
  world.watch = [&](const Tx& tx, PeerId) {
    with_ack += (static_cast<std::uint8_t>(tx.datagram[2]) & wire::kFlagAck) != 0;
  };
  world[1].on_packet = [&](PeerId) {
    ++world[1].flows[0].packets, world[1].flows[0].bytes = 8, world[1].pump(0);
  };
  world[0].on_packet = [&](PeerId) {
    ++rounds;
    if (rounds < 1000) ++world[0].flows[1].packets, world[0].pump(1);
  };
  world[0].send(1, 1, 8);
  ASSERT_TRUE(world.run(milliseconds(5000), [&] { return rounds == 1000; }));
  EXPECT_EQ(world[0].mesh.counters().acks_sent + world[1].mesh.counters().acks_sent, 0u);
  EXPECT_EQ(world[0].mesh.counters().resent + world[1].mesh.counters().resent, 0u);
  EXPECT_EQ(world.datagrams, 2000u);
  EXPECT_LE(with_ack, 800);
  ASSERT_TRUE(world.run(milliseconds(10), [&] { return world.all_flushed(); }));
}

// Traffic of barriers: a small packet from time to time, and no packet back that could carry an ack.
TEST(RelBasic, sparse_one_way_packets_share_an_ack) {
  WorldConfig config;
  config.delay = microseconds(10);
  World world(config);
  constexpr std::uint64_t kPackets = 1000;
  for (std::uint64_t i = 0; i < kPackets; ++i) {
    world[0].send(1, 1, 8);
    world.run(microseconds(120));
  }
  EXPECT_EQ(world[1].got_packets, kPackets);
  EXPECT_EQ(world[0].mesh.counters().resent, 0u);
  EXPECT_LE(world[1].mesh.counters().acks_sent, kPackets / 40);
  ASSERT_TRUE(world.run(milliseconds(2), [&] { return world.all_flushed(); }));
  EXPECT_EQ(world[0].mesh.counters().resent, 0u);
}

// Four small packets count as a large one: receivers and switches never hold more than was granted.
TEST(RelBasic, small_packets_take_a_quarter_of_the_credit) {
  const auto sent_without_an_answer = [](std::uint32_t bytes) {
    World world({});
    world.cut = [](PeerId from, PeerId, LinkId) { return from == 1; };
    for (int i = 0; i < 200; ++i) {
      world[0].send(1, 1, bytes);
      world.run(microseconds(20));
    }
    return world[0].mesh.counters().sent;
  };
  const std::uint32_t window = MeshConfig{}.eager_packets;
  EXPECT_EQ(sent_without_an_answer(1400), window);
  EXPECT_EQ(sent_without_an_answer(kSmallBody + 1), window);
  EXPECT_EQ(sent_without_an_answer(kSmallBody), window * kSmallPerCredit);
  EXPECT_EQ(sent_without_an_answer(8), window * kSmallPerCredit);
}

// Peers may have links with a larger MTU: their packets must fit into the reorder ring.
TEST(RelBasic, a_peer_with_a_larger_mtu_is_received) {
  WorldConfig config;
  config.loss = 0.05;
  config.mesh.largest_bytes = 1472;
  config.odd_bytes = 1452;
  World world(config);
  world[0].send(1, 500, 0);
  world[1].send(0, 500, 0);
  ASSERT_TRUE(world.run(milliseconds(10'000), [&] {
    return world[1].got_packets >= 500 && world[0].got_packets >= 500 && world.all_flushed();
  }));
  EXPECT_EQ(world[0].wrong + world[1].wrong, 0u);
}

// Routes change: the minimum of a route that is now ten times as long must expire.
TEST(RelBasic, the_minimum_round_trip_expires) {
  Link link;
  for (int i = 0; i < 100; ++i) link.on_round_trip(microseconds(20));
  EXPECT_EQ(link.rtt.least_ns, 20'000u);
  for (int i = 0; i < 500; ++i) link.on_round_trip(microseconds(200));
  EXPECT_EQ(link.rtt.least_ns, 20'000u);  // it may be a queue
  for (int i = 0; i < 2000; ++i) link.on_round_trip(microseconds(200));
  EXPECT_EQ(link.rtt.least_ns, 200'000u);
  link.on_round_trip(microseconds(30));
  EXPECT_EQ(link.rtt.least_ns, 30'000u);
}

TEST(RelBasic, small_packets_share_datagrams) {
  World world({});
  world[0].send(1, 100, 20);
  ASSERT_TRUE(world.run(milliseconds(1000), [&] { return world[1].got_packets == 100; }));
  EXPECT_EQ(world[1].wrong, 0u);
  EXPECT_LE(world[0].mesh.counters().sent, 3u);
}

struct Trouble {
  const char* name;
  double loss, duplicate, reorder, corrupt;
};

class RelTrouble : public testing::TestWithParam<Trouble> {};

TEST_P(RelTrouble, nothing_is_lost_duplicated_or_corrupt) {
  for (std::uint64_t seed = 1; seed <= some_of(8); ++seed) {
    WorldConfig config;
    config.seed = seed;
    config.loss = GetParam().loss;
    config.duplicate = GetParam().duplicate;
    config.reorder = GetParam().reorder;
    config.corrupt = GetParam().corrupt;
    World world(config);
    world[0].send(1, 1500, 900);
    world[1].send(0, 700, 100);
    ASSERT_TRUE(world.run(
        milliseconds(60'000),
        [&] { return world[1].got_packets >= 1500 && world[0].got_packets >= 700 && world.all_flushed(); }))
        << "seed " << seed;
    EXPECT_EQ(world[0].wrong + world[1].wrong, 0u) << "seed " << seed;
    EXPECT_EQ(world[1].got_packets, 1500u);
    EXPECT_EQ(world[0].got_packets, 700u);
    EXPECT_EQ(world[0].mesh.buffered_bytes() + world[1].mesh.buffered_bytes(), 0u);
    EXPECT_TRUE(world[0].lost.empty());
  }
}

INSTANTIATE_TEST_SUITE_P(All, RelTrouble,
                         testing::Values(Trouble{"loss1", 0.01, 0, 0, 0}, Trouble{"loss10", 0.1, 0, 0, 0},
                                         Trouble{"loss30", 0.3, 0, 0, 0}, Trouble{"loss50", 0.5, 0, 0, 0},
                                         Trouble{"reorder", 0, 0, 0.3, 0}, Trouble{"duplicate", 0, 0.3, 0, 0},
                                         Trouble{"corrupt", 0, 0, 0, 0.1},
                                         Trouble{"all", 0.1, 0.1, 0.1, 0.05}),
                         [](const auto& each) { return each.param.name; });

}  // namespace
}  // namespace herald::rel
