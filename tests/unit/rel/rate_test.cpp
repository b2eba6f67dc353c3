// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a link is idle although packets wait, because of small windows, late credit, slow
// repair, or an overflow of the queue in the switch.
#include "tests/unit/rel/world.hpp"

namespace herald::rel {
namespace {

// Share of the time until all has come that the receiver's cable needs for the packets alone.
struct Outcome {
  double share = 0;
  double resent = 0;  // of packets
  double full = 0;    // of datagrams, dropped by the switch
};

Outcome stream(WorldConfig config, int senders, std::uint64_t bytes) {
  config.nodes = senders + 1;
  World world(config);
  const Instant start = world.now();
  for (PeerId from = 1; from <= senders; ++from) world[from].send_bytes(0, bytes);
  const bool done = world.run(milliseconds(60'000), [&] {
    return world[0].got_bytes >= bytes * static_cast<std::uint64_t>(senders);
  });
  EXPECT_TRUE(done) << "seed " << config.seed;
  EXPECT_EQ(world[0].wrong, 0u);
  Outcome outcome;
  const double body = config.mesh.datagram_bytes - 20.0;
  const double wire_bytes =
      static_cast<double>(world[0].got_bytes) / body * (config.mesh.datagram_bytes + 66.0);
  const double needed_ns = wire_bytes * 8e9 / config.bits_per_second / (1 - config.loss);
  outcome.share = needed_ns / static_cast<double>((world.now() - start).ns);
  double sent = 0;
  for (PeerId from = 1; from <= senders; ++from) {
    sent += static_cast<double>(world[from].mesh.counters().sent);
    outcome.resent += static_cast<double>(world[from].mesh.counters().resent);
  }
  outcome.resent /= sent;
  outcome.full = static_cast<double>(world.dropped_full) / static_cast<double>(world.datagrams);
  return outcome;
}

Outcome mean(WorldConfig config, int senders, std::uint64_t bytes, int seeds) {
  Outcome sum;
  double worst = 1;
  for (int seed = 1; seed <= seeds; ++seed) {
    config.seed = static_cast<std::uint64_t>(seed);
    const Outcome one = stream(config, senders, bytes);
    sum.share += one.share / seeds;
    sum.resent += one.resent / seeds;
    sum.full += one.full / seeds;
    worst = std::min(worst, one.share);
  }
  std::printf("share %.4f (worst %.4f), resent %.4f, dropped by the switch %.5f\n", sum.share, worst,
              sum.resent, sum.full);
  return sum;
}

TEST(RelRate, a_lone_stream_fills_100_mbit) {
  WorldConfig config;
  config.bits_per_second = 1e8;
  EXPECT_GE(mean(config, 1, 4 << 20, 1).share, 0.99);
}

TEST(RelRate, a_lone_stream_fills_1_gbit) { EXPECT_GE(mean({}, 1, 16 << 20, 1).share, 0.99); }

TEST(RelRate, one_percent_lost) {
  WorldConfig config;
  config.bits_per_second = 1e8;
  config.loss = 0.01;
  EXPECT_GE(mean(config, 1, 1 << 20, 20).share, 0.95);
}

TEST(RelRate, ten_percent_lost) {
  WorldConfig config;
  config.bits_per_second = 1e8;
  config.loss = 0.1;
  EXPECT_GE(mean(config, 1, 1 << 20, 20).share, 0.80);
}

TEST(RelRate, seven_to_one_does_not_overrun_the_switch) {
  WorldConfig config;
  config.bits_per_second = 1e8;
  config.switch_bytes = 256 << 10;
  const Outcome outcome = mean(config, 7, 1 << 20, 3);
  EXPECT_GE(outcome.share, 0.97);
  EXPECT_LT(outcome.full, 0.001);
}

TEST(RelRate, new_senders_do_not_overrun_the_switch_while_another_holds_all_credit) {
  WorldConfig config;
  config.nodes = 8;
  config.bits_per_second = 1e8;
  config.switch_bytes = 256 << 10;
  config.mesh.eager_packets = eager_window(config.mesh.budget_bytes, config.mesh.datagram_bytes, 7);
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    config.seed = seed;
    World world(config);
    world[1].send_bytes(0, 4 << 20);
    world.run(milliseconds(30 + static_cast<int>(seed)));
    for (PeerId from = 2; from <= 7; ++from) {
      world[from].send_bytes(0, 1 << 20);
      world.settle(from);
    }
    ASSERT_TRUE(world.run(milliseconds(60'000), [&] { return world[0].got_bytes >= 10u << 20; }));
    EXPECT_EQ(world.dropped_full, 0u) << "seed " << seed;
  }
}

TEST(RelRate, a_first_burst_queued_behind_others_is_not_retransmitted) {
  // There is no round-trip sample yet, and the first ack is as late as with a full queue in the switch.
  WorldConfig config;
  config.delay = milliseconds(6);
  World world(config);
  world[1].send(0, 16, 1400);
  ASSERT_TRUE(world.run(milliseconds(1'000), [&] { return world.all_flushed(); }));
  EXPECT_EQ(world[1].mesh.counters().resent, 0u);
}

// A peer that computes does not answer for a while: that is no congestion.
TEST(RelRate, a_busy_peer_is_not_mistaken_for_a_lossy_one) {
  WorldConfig config;
  config.bits_per_second = 1e8;
  config.mesh.budget_bytes = 256 << 10;
  config.mesh.eager_packets = 128;
  World world(config);
  bool busy = false;
  world.cut = [&](PeerId from, PeerId, LinkId) { return busy && from == 1; };
  std::uint64_t sent = 0;
  const auto send = [&](std::uint64_t packets) {
    world[0].send(1, packets, 1000);
    world.settle(0);
    sent += packets;
  };
  send(200);
  ASSERT_TRUE(world.run(milliseconds(500), [&] { return world.all_flushed(); }));
  for (int i = 0; i < 3; ++i) {
    busy = true;
    send(2);
    world.run(milliseconds(6));
    busy = false;
    ASSERT_TRUE(world.run(milliseconds(500), [&] { return world.all_flushed(); }));
  }
  busy = true;
  send(60);
  world.run(milliseconds(10));  // twice what they take
  EXPECT_EQ(world[1].got_packets, sent);
}

TEST(RelRate, a_sudden_increase_of_the_round_trip_is_learned) {
  // A sender that knows the idle network takes queued packets for lost at the first ack without news. If it
  // always retransmitted before the ack can arrive, no sample would show the new round trip.
  WorldConfig config;
  config.mesh.budget_bytes = 24 << 10;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    config.seed = seed;
    config.duplicate = 0.2;
    World world(config);
    world[1].send(0, 200, 1000);
    EXPECT_TRUE(world.run(milliseconds(1'000), [&] { return world.all_flushed(); }));
    world.config.delay = milliseconds(8);
    world[1].send(0, 2000, 1000);
    EXPECT_TRUE(world.run(milliseconds(60'000), [&] { return world.all_flushed(); }));
    EXPECT_LT(world[1].mesh.counters().resent, 800u) << "seed " << seed;
  }
}

TEST(RelRate, thirty_one_to_one_converges) {
  // The eager windows alone exceed the switch: that causes losses once, not for ever.
  WorldConfig config;
  config.switch_bytes = 256 << 10;
  const Outcome outcome = mean(config, 31, 1 << 20, 1);
  EXPECT_GE(outcome.share, 0.9);
  EXPECT_LT(outcome.full, 0.03);
}

TEST(RelRate, half_of_the_rate_at_ten_percent_and_1_gbit) {
  // 1 MiB is over in 9 ms here, so a few timeouts count much.
  WorldConfig config;
  config.loss = 0.1;
  EXPECT_GE(mean(config, 1, 1 << 20, 20).share, 0.5);
}

TEST(RelRate, a_lone_stream_fills_10_gbit) {
  WorldConfig config;
  config.bits_per_second = 1e10;
  config.delay = microseconds(10);
  EXPECT_GE(mean(config, 1, 16 << 20, 1).share, 0.97);
}

TEST(RelRate, a_link_that_was_slow_for_a_while_is_measured_as_fast_again) {
  // Messages of 512 KiB take less time than a sample of the rate, and the pace of the slow link would keep
  // packets too far apart to measure a higher rate.
  WorldConfig config;
  config.bits_per_second = 1e10;
  config.delay = microseconds(10);
  World world(config);
  std::uint64_t all = 0;
  const auto message = [&] {
    const Instant start = world.now();
    all += 512 << 10;
    world[1].send_bytes(0, 512 << 10);
    EXPECT_TRUE(world.run(milliseconds(10'000), [&] { return world[0].got_bytes >= all; }));
    world.run(microseconds(100));
    return static_cast<double>((world.now() - start).ns);
  };
  const double at_first = message();
  world.config.bits_per_second = 1e8;
  for (int i = 0; i < 3; ++i) EXPECT_GT(message(), 50 * at_first);
  world.config.bits_per_second = 1e10;
  for (int i = 0; i < 5; ++i) (void)message();
  EXPECT_LT(message(), 1.2 * at_first);
}

}  // namespace
}  // namespace herald::rel
