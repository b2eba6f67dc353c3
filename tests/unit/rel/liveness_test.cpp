// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a peer counts as dead although news comes from it by another way; copies of old
// datagrams hide a death; a cable that is out and in again meets retransmissions that have backed off; the
// silence of a peer is not reported, or not with its likely reason.
#include <vector>

#include "tests/unit/rel/lane_world.hpp"
#include "tests/unit/rel/world.hpp"

namespace herald::rel {
namespace {

TEST(RelLiveness, replayed_datagrams_do_not_hide_a_death) {
  World world({});
  std::vector<std::vector<std::byte>> seen;
  world.watch = [&](const Tx& tx, PeerId from) {
    if (from == 1 && seen.size() < 100) seen.emplace_back(tx.datagram.begin(), tx.datagram.end());
  };
  for (int i = 0; i < 20; ++i) {
    world[0].send(1, 3, 1000);
    world[1].send(0, 3, 1000);
    world.run(milliseconds(2));
    world[0].mesh.liveness().probe(world.now(), 1);
    world.run(milliseconds(700));
  }
  world[1].dead = true;
  const Instant death = world.now();
  world[0].send(1, 10, 1000);
  world.settle(0);
  while (world[0].lost.empty() && world.now() - death < milliseconds(9000)) {
    world.run(milliseconds(100));
    for (const auto& datagram : seen) world[0].mesh.on_datagram(world.now(), 0, datagram);
    world.settle(0);
  }
  EXPECT_EQ(world[0].lost, std::vector<PeerId>{1});
  EXPECT_LT((world.now() - death).ns, milliseconds(6500).ns);
}

TEST(RelLiveness, replayed_casts_do_not_hide_a_death) {
  LaneWorld world(small(3));
  std::vector<std::vector<std::byte>> seen;
  world.drop = [&](PeerId from, PeerId to, std::span<const std::byte> datagram) {
    if (from == 1 && to == 0 && seen.size() < 100) seen.emplace_back(datagram.begin(), datagram.end());
    return false;
  };
  for (PeerId id = 0; id < 3; ++id) world[id].cast(1, 30, 100);
  ASSERT_TRUE(world.run(milliseconds(1000), [&] { return world[0].got == 60 && world.all_flushed(); }));
  world[1].dead = true;
  const Instant death = world.now();
  world[0].cast(1, 10, 100);
  while (world[0].lost.empty() && world.now() - death < milliseconds(3000)) {
    world.run(milliseconds(10));
    for (const auto& datagram : seen) {
      world[0].on_datagram(false, datagram);
      world[0].on_datagram(true, datagram);
    }
    world.settle(0);
  }
  EXPECT_EQ(world[0].lost, std::vector<PeerId>{1});
  EXPECT_LT((world.now() - death).ns, milliseconds(900).ns);
}

// Datagrams of lanes pass and those of connections do not, or the reverse: large ones may fail, or a group.
TEST(RelLiveness, news_by_any_way_keeps_a_peer_alive) {
  for (const bool lanes_pass : {false, true}) {
    LaneWorld world(small(3));
    world.drop = [&](PeerId from, PeerId to, std::span<const std::byte> datagram) {
      return (from == 1 || to == 1) && wire::is_lane_datagram(datagram) != lanes_pass;
    };
    for (int i = 0; i < 100; ++i) {
      if (i % 2 == 0 || !lanes_pass) world[0].mesh.liveness().probe(world.now(), 1);
      world[0].cast(1, 1, 100);
      world.run(milliseconds(50));
    }
    EXPECT_TRUE(world[0].lost.empty()) << lanes_pass;
    world.drop = nullptr;
    ASSERT_TRUE(world.run(milliseconds(1000), [&] { return world.have(0, 100) && world.all_flushed(); }));
    expect_clean(world);
  }
}

// Out and in again six times: of the first packet that passes, the repair of all others follows. Timers have
// backed off fully after two seconds, and packets of full size carry no ack that would start the other side.
void pull_and_plug(std::uint64_t seed, Duration outage, std::uint32_t bytes) {
  const Duration round_trip = microseconds(130);  // two lines, and the delay of the world
  WorldConfig config;
  config.seed = seed;
  World world(config);
  bool out = false;
  world.cut = [&](PeerId, PeerId, LinkId) { return out; };
  std::uint64_t sent = 0;
  for (int i = 0; i < 6; ++i) {
    world[0].send(1, 8, bytes);
    world[1].send(0, 8, bytes);
    sent += 8;
    out = true;
    world.settle(0);
    world.settle(1);
    world.run(outage);
    out = false;
    const auto first = [&] { return world[0].got_packets + world[1].got_packets > 2 * (sent - 8); };
    ASSERT_TRUE(world.run(milliseconds(130), first)) << "back-off is too long";
    const Instant passed = world.now();
    const auto all = [&] { return world[0].got_packets == sent && world[1].got_packets == sent; };
    ASSERT_TRUE(world.run(milliseconds(500), all));
    // Acks may be held back, and the timeout that starts the other direction is a few round trips.
    EXPECT_LT((world.now() - passed).ns, 2 * round_trip.ns + milliseconds(5).ns) << seed << ", " << i;
    world.run(milliseconds(500));
  }
  EXPECT_TRUE(world[0].lost.empty() && world[1].lost.empty());
}

TEST(RelLiveness, repair_resumes_within_two_round_trips_of_the_first_packet) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed)
    for (const std::int64_t outage : {450, 2000})
      for (const std::uint32_t bytes : {1000u, 0u}) pull_and_plug(seed, milliseconds(outage), bytes);
}

TEST(RelLiveness, silence_is_reported_with_what_is_known_and_ends_with_an_answer) {
  for (const bool heard : {true, false}) {
    WorldConfig config;
    config.mesh.give_up = milliseconds(60'000);
    World world(config);
    if (heard) {
      world[0].send(1, 3, 100);
      world.run(milliseconds(20));
    }
    bool cut = true;
    world.cut = [&](PeerId, PeerId, LinkId) { return cut; };
    world[0].send(1, 3, 100);
    world.settle(0);
    world.run(milliseconds(4900));
    EXPECT_TRUE(world[0].silent.empty());
    world.run(milliseconds(300));
    ASSERT_EQ(world[0].silent.size(), 1u);
    EXPECT_EQ(world[0].silent[0], (std::pair<PeerId, bool>{1, heard}));
    world.run(milliseconds(30'000));
    EXPECT_EQ(world[0].silent.size(), 1u);
    EXPECT_TRUE(world[0].answers.empty() && world[0].lost.empty());
    cut = false;
    world.run(milliseconds(500));
    EXPECT_EQ(world[0].answers, std::vector<PeerId>{1});
    cut = true;
    world[0].send(1, 3, 100);
    world.settle(0);
    world.run(milliseconds(59'000));
    EXPECT_EQ(world[0].silent.size(), 2u);
    EXPECT_TRUE(world[0].lost.empty());
    world.run(milliseconds(8000));
    EXPECT_EQ(world[0].lost, std::vector<PeerId>{1});
  }
}

}  // namespace
}  // namespace herald::rel
