// SPDX-License-Identifier: BSD-3-Clause
// A network partition, a peer that dies, forged packets, a listener that refuses deliveries, and what each
// costs in memory and wake-ups.
#include "tests/unit/rel/world.hpp"

namespace herald::rel {
namespace {

TEST(RelFault, a_partition_of_five_seconds_heals) {
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    WorldConfig config;
    config.seed = seed;
    World world(config);
    const Instant from = world.now() + milliseconds(3), to = from + milliseconds(5000);
    world.cut = [&](PeerId, PeerId, LinkId) { return world.now() >= from && world.now() < to; };
    world[0].send(1, 3000, 1000);
    world[1].send(0, 3000, 50);
    ASSERT_TRUE(world.run(milliseconds(7000), [&] {
      return world[1].got_packets == 3000 && world[0].got_packets == 3000 && world.all_flushed();
    }));
    EXPECT_LT((world.now() - to).ns, milliseconds(400).ns) << "asked seldom";
    EXPECT_EQ(world[0].wrong + world[1].wrong, 0u);
    EXPECT_TRUE(world[0].lost.empty() && world[1].lost.empty());
    EXPECT_LT(world.dropped, 3000u) << "asked too often";
  }
}

TEST(RelFault, a_dead_peer_is_lost_once_and_in_time) {
  World world({});
  world[0].send(1, 100, 1000);
  world.run(milliseconds(20));
  world[1].dead = true;
  const Instant death = world.now();
  world[0].send(1, 1000, 1000);
  ASSERT_TRUE(world.run(milliseconds(8000), [&] { return !world[0].lost.empty(); }));
  EXPECT_GT((world.now() - death).ns, milliseconds(5000).ns);
  EXPECT_LT((world.now() - death).ns, milliseconds(5800).ns);
  world.run(milliseconds(20'000));
  EXPECT_EQ(world[0].lost, std::vector<PeerId>{1});
  EXPECT_EQ(world[0].mesh.buffered_bytes(), 0u);
  EXPECT_TRUE(world[0].mesh.is_flushed());
  EXPECT_TRUE(world[0].mesh.reserve(1, 10).empty());
}

TEST(RelFault, a_computing_peer_with_signs_of_life_is_not_lost) {
  World world({});
  bool away = false;
  world.cut = [&](PeerId, PeerId, LinkId) { return away; };
  world[0].send(1, 10, 1000);
  world.run(milliseconds(20));
  away = true;
  world[0].send(1, 10, 1000);
  for (int second = 0; second < 12; ++second) {
    world.run(milliseconds(1000));
    world[0].mesh.liveness().detector(world.now(), 1)->on_sign_of_life(world.now());
    world.settle(0);
  }
  EXPECT_TRUE(world[0].lost.empty());
  away = false;
  EXPECT_TRUE(world.run(milliseconds(500), [&] { return world[1].got_packets == 20; }));
}

TEST(RelFault, an_idle_peer_is_never_lost_and_costs_nothing) {
  World world({});
  world[0].send(1, 100, 1000);
  world.run(milliseconds(5000));
  EXPECT_FALSE(world[0].mesh.next_deadline().has_value());
  EXPECT_FALSE(world[1].mesh.next_deadline().has_value());
  world[1].dead = true;
  const std::uint64_t before = world.datagrams;
  world.run(milliseconds(60'000));
  EXPECT_EQ(world.datagrams, before);
  EXPECT_TRUE(world[0].lost.empty());
}

TEST(RelFault, numbers_wrap_around_anywhere) {
  for (const std::uint32_t first : {0xffffffffu, 0xfffffff0u, 0x7ffffff0u, 0u}) {
    WorldConfig config;
    config.mesh.first_seq = first;
    config.loss = 0.05;
    config.reorder = 0.05;
    World world(config);
    world[0].send(1, 2000, 1200);
    ASSERT_TRUE(world.run(milliseconds(10'000), [&] { return world[1].got_packets == 2000; })) << first;
    EXPECT_EQ(world[1].wrong, 0u);
  }
}

TEST(RelFault, go_back_n_delivers_everything) {
  for (const double loss : {0.0, 0.01, 0.3}) {
    WorldConfig config;
    config.mesh.repair = Repair::go_back_n;
    config.loss = loss;
    World world(config);
    std::int64_t ahead = 0;
    world.watch = [&](const Tx& tx, PeerId) {
      const auto& head = *reinterpret_cast<const wire::DatagramHead*>(tx.datagram.data());
      if (tx.to == 1 && head.kind == static_cast<std::uint8_t>(wire::DatagramKind::data))
        ahead = std::max(ahead, static_cast<std::int64_t>(head.seq - 0xffffff00u) -
                                    static_cast<std::int64_t>(world[1].got_packets));
    };
    world[0].send(1, 1000, 1200);
    ASSERT_TRUE(world.run(milliseconds(20'000), [&] { return world[1].got_packets == 1000; })) << loss;
    EXPECT_EQ(world[1].wrong, 0u);
    EXPECT_LE(ahead, 16);
  }
}

TEST(RelFault, forged_datagrams_are_refused) {
  World world({});
  std::vector<std::vector<std::byte>> seen;
  world.watch = [&](const Tx& tx, PeerId from) {
    if (from == 0 && seen.size() < 200) seen.emplace_back(tx.datagram.begin(), tx.datagram.end());
  };
  world[0].send(1, 100, 1000);
  ASSERT_TRUE(world.run(milliseconds(100), [&] { return world.all_flushed(); }));
  const std::uint64_t got = world[1].got_packets;
  Prng prng(11);
  for (const auto& datagram : seen) {
    // A replay of the same job is a duplicate, or an old ack.
    EXPECT_EQ(world[1].mesh.on_datagram(world.now(), 0, datagram), 0);
    // One wrong bit anywhere.
    std::vector<std::byte> broken = datagram;
    broken[prng.below(broken.size())] ^= static_cast<std::byte>(1u << prng.below(8));
    EXPECT_EQ(world[1].mesh.on_datagram(world.now(), 0, broken), -1);
    // Addressed to another process: back to its sender.
    EXPECT_EQ(world[0].mesh.on_datagram(world.now(), 0, datagram), -1);
    EXPECT_EQ(world[1].mesh.on_datagram(world.now(), 0, std::span(datagram).first(prng.below(20))), -1);
  }
  // Another job's key, an earlier incarnation.
  for (const bool key : {true, false}) {
    wire::Seal seal{{0x0123456789abcdef, 0xfedcba9876543210}, 7};
    if (key) seal.key[0] ^= 1;
    if (!key) seal.epoch = 6;
    std::array<std::byte, 20> forged{};
    wire::DatagramHead head;
    head.version = wire::kDatagramVersion;
    head.kind = static_cast<std::uint8_t>(wire::DatagramKind::ack);
    head.epoch = static_cast<std::uint8_t>(seal.epoch);
    head.from = 0;
    std::memcpy(forged.data(), &head, sizeof head);
    wire::seal(seal, 1, 0, forged);
    EXPECT_EQ(world[1].mesh.on_datagram(world.now(), 0, forged), -1);
  }
  const MeshCounters& counters = world[1].mesh.counters();
  EXPECT_EQ(world[1].got_packets, got);
  EXPECT_GE(counters.forged, seen.size() / 2);
  EXPECT_GE(counters.stale, 1u);
  EXPECT_GE(counters.malformed, seen.size());
  EXPECT_GE(counters.duplicates, 100u);
  // The connection still works.
  world[0].send(1, 100, 1000);
  ASSERT_TRUE(world.run(milliseconds(100), [&] { return world[1].got_packets == got + 100; }));
  EXPECT_EQ(world[1].wrong, 0u);
}

// What could go wrong: a recorded datagram is taken for new 2^32 packets later.
TEST(RelFault, copies_from_before_numbers_wrapped_around_are_refused) {
  std::vector<std::vector<std::byte>> recorded[2];  // by sender
  for (const std::uint32_t upper : {6u, 7u}) {
    WorldConfig config;
    config.mesh.first_upper = upper;
    World world(config);
    if (upper == 6)
      world.watch = [&](const Tx& tx, PeerId from) {
        recorded[from].emplace_back(tx.datagram.begin(), tx.datagram.end());
      };
    const auto exchange = [&](std::uint64_t packets) {
      world[0].send(1, packets, 1000);
      world[1].send(0, packets, 100);
      return world.run(milliseconds(100), [&] { return world.all_flushed(); });
    };
    ASSERT_TRUE(exchange(400));  // the lower halves wrap around meanwhile
    EXPECT_EQ(world[1].got_packets, 400u);
    if (upper == 6) continue;
    for (const PeerId from : {0, 1})
      for (const auto& datagram : recorded[from]) {
        if (std::to_integer<int>(datagram[1]) > 2) continue;  // probes have numbers of their own
        EXPECT_EQ(world[1 - from].mesh.on_datagram(world.now(), 0, datagram), -1);
      }
    EXPECT_GT(world[1].mesh.counters().forged, 400u);
    ASSERT_TRUE(exchange(400));
    EXPECT_EQ(world[0].got_packets, 800u);
    EXPECT_EQ(world[1].wrong, 0u);
  }
}

TEST(RelFault, a_refused_packet_is_delivered_again) {
  for (const std::uint32_t bytes : {30u, 1000u}) {
    WorldConfig config;
    config.loss = 0.02;
    World world(config);
    Prng prng(4);
    world[1].gate = [&] { return prng.below(3) == 0 ? Status::again : Status::ok; };
    world[0].send(1, 2000, bytes);
    ASSERT_TRUE(
        world.run(milliseconds(30'000), [&] { return world[1].got_packets == 2000 && world.all_flushed(); }));
    EXPECT_EQ(world[1].wrong, 0u);
    EXPECT_GT(world[1].refused, 20u);
    EXPECT_EQ(world[1].mesh.buffered_bytes(), 0u);
  }
}

TEST(RelFault, a_listener_that_refuses_for_long_only_stops_the_sender) {
  World world({});
  bool open = false;
  world[1].gate = [&] { return open ? Status::ok : Status::again; };
  world[0].send(1, 2000, 1000);
  world.run(milliseconds(9000));
  EXPECT_EQ(world[1].got_packets, 0u);
  EXPECT_LE(world[1].mesh.buffered_bytes(), 400u * 1600);
  EXPECT_TRUE(world[0].lost.empty()) << "it answers";
  open = true;
  ASSERT_TRUE(world.run(milliseconds(500), [&] { return world[1].got_packets == 2000; }));
  EXPECT_EQ(world[1].wrong, 0u);
}

TEST(RelFault, a_refused_sender_without_backlog_does_not_probe) {
  World world({});
  world[0].send(1, 17, 1400);  // one more than the eager window
  world[0].flows[1].packets = 0;
  ASSERT_TRUE(world.run(milliseconds(100), [&] { return world.all_flushed(); }));
  world.run(milliseconds(100));
  const std::uint64_t before = world.datagrams;
  world.run(milliseconds(5000));
  EXPECT_EQ(world.datagrams, before);
}

TEST(RelFault, the_log_is_bounded_and_waiting_senders_are_resumed) {
  WorldConfig config;
  config.nodes = 6;
  config.mesh.log_bytes = 32 << 10;
  World world(config);
  std::uint64_t most = 0;
  world.watch = [&](const Tx&, PeerId from) {
    most = std::max(most, from == 0 ? world[0].mesh.buffered_bytes() : 0);
  };
  for (PeerId to = 1; to < 6; ++to) world[0].send(to, 300, 1400);
  ASSERT_TRUE(world.run(milliseconds(5000), [&] {
    for (PeerId to = 1; to < 6; ++to)
      if (world[to].got_packets != 300) return false;
    return true;
  }));
  EXPECT_LE(most, 32u << 10);
  EXPECT_GT(most, 16u << 10);
}

TEST(RelFault, every_wake_up_makes_progress) {
  // With half of all packets lost, a few wake-ups per datagram at most.
  for (std::uint64_t seed = 1; seed <= 5; ++seed) {
    WorldConfig config;
    config.seed = seed;
    config.loss = 0.5;
    config.links = 2;
    World world(config);
    world[0].send(1, 300, 1000);
    ASSERT_TRUE(
        world.run(milliseconds(30'000), [&] { return world[1].got_packets == 300 && world.all_flushed(); }));
    EXPECT_LT(world.steps, 8 * world.datagrams + 1000);
  }
}

TEST(RelFault, a_thousand_idle_peers_are_cheap) {
  WorldConfig config;
  config.nodes = 2;
  Prng prng(1);
  World world(config);
  MeshConfig mesh_config;
  mesh_config.peers = 1000;
  Mesh mesh(mesh_config, prng, world[0]);
  for (PeerId peer = 1; peer < 1000; ++peer) mesh.add_peer(peer, 2);
  EXPECT_FALSE(mesh.next_deadline().has_value());
  EXPECT_EQ(mesh.buffered_bytes(), 0u);
  EXPECT_EQ(mesh.next_ready(), -1);
}

TEST(RelFault, a_forgotten_peer_still_gets_its_last_ack) {
  World world({});
  world[1].on_packet = [&](PeerId from) {
    if (world[1].got_packets == 100) world[1].mesh.forget_peer(from);
  };
  world[0].send(1, 100, 1000);
  ASSERT_TRUE(world.run(milliseconds(500), [&] { return world.all_flushed(); }));
  EXPECT_EQ(world[1].got_packets, 100u);
  EXPECT_FALSE(world[1].mesh.next_deadline().has_value() && world[1].mesh.buffered_bytes() != 0);
}

}  // namespace
}  // namespace herald::rel
