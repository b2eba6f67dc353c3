// SPDX-License-Identifier: BSD-3-Clause
// Several links to a peer: a link that never answers, a link that fails under load, a link that recovers; and
// credit that several senders share.
#include "tests/unit/effort.hpp"
#include "tests/unit/rel/world.hpp"

namespace herald::rel {
namespace {

TEST(RelLinks, two_links_carry_twice_as_much) {
  WorldConfig config;
  config.links = 2;
  config.bits_per_second = 1e8;
  World world(config);
  const Instant start = world.now();
  world[0].send_bytes(1, 8 << 20);
  ASSERT_TRUE(world.run(milliseconds(5000), [&] { return world[1].got_bytes >= 8 << 20; }));
  const double seconds = static_cast<double>((world.now() - start).ns) * 1e-9;
  EXPECT_GT(static_cast<double>(world[1].got_bytes) * 8 / seconds, 1.8e8);
  EXPECT_EQ(world[1].wrong, 0u);
  EXPECT_LT(world[0].mesh.counters().resent, 50u);
  EXPECT_TRUE(world[0].mesh.is_live(1, 0) && world[0].mesh.is_live(1, 1));
}

TEST(RelLinks, a_link_that_never_answers_does_not_stop_the_first_message) {
  WorldConfig config;
  config.links = 3;
  World world(config);
  world.cut = [&](PeerId, PeerId, LinkId link) { return link != 2; };
  world[0].send(1, 10, 1000);
  ASSERT_TRUE(world.run(milliseconds(50), [&] { return world[1].got_packets == 10; }));
  world[0].send(1, 1000, 1000);
  ASSERT_TRUE(world.run(milliseconds(500), [&] { return world[1].got_packets == 1010; }));
  EXPECT_EQ(world[1].wrong, 0u);
  EXPECT_TRUE(world[0].mesh.is_live(1, 2));
  EXPECT_FALSE(world[0].mesh.is_live(1, 0));
}

TEST(RelLinks, a_failed_link_is_avoided_at_once_and_used_again_later) {
  for (const LinkId dies : {LinkId{0}, LinkId{1}}) {
    WorldConfig config;
    config.links = 2;
    config.bits_per_second = 1e8;
    World world(config);
    bool cut = false;
    world.cut = [&](PeerId, PeerId, LinkId link) { return cut && link == dies; };
    world[0].send(1, UINT32_MAX, 1400);
    world.run(milliseconds(100));
    EXPECT_TRUE(world[0].mesh.is_live(1, 0) && world[0].mesh.is_live(1, 1));
    cut = true;
    const Instant death = world.now();
    Instant last_gap_end = death, last = death;
    world[1].on_packet = [&](PeerId) {
      if (world.now() - last > milliseconds(50)) last_gap_end = world.now();
      last = world.now();
    };
    world.run(milliseconds(1500));
    EXPECT_LT((last_gap_end - death).ns, milliseconds(500).ns);
    EXPECT_LT((world.now() - last).ns, milliseconds(5).ns) << "data flows";
    EXPECT_FALSE(world[0].mesh.is_live(1, dies));
    EXPECT_EQ(world[0].mesh.counters().links_lost, 1u);
    cut = false;
    world.run(milliseconds(1500));
    EXPECT_TRUE(world[0].mesh.is_live(1, dies));
    EXPECT_EQ(world[0].mesh.counters().links_found, 1u);
    EXPECT_EQ(world[1].wrong, 0u);
  }
}

TEST(RelLinks, a_send_error_moves_packets_to_the_other_link) {
  WorldConfig config;
  config.links = 2;
  World world(config);
  world[0].send(1, 100, 1000);
  world.run(milliseconds(50));
  world.cut = [&](PeerId, PeerId, LinkId link) { return link == 0; };
  world[0].send(1, 100, 1000);
  world[0].mesh.on_link_error(world.now(), 1, 0);
  world.settle(0);
  ASSERT_TRUE(world.run(milliseconds(5), [&] { return world[1].got_packets == 200; }));
  EXPECT_EQ(world[1].wrong, 0u);
  world.run(milliseconds(100));
  EXPECT_FALSE(world[0].mesh.is_live(1, 0));
}

TEST(RelLinks, all_links_lose_packets) {
  for (std::uint64_t seed = 1; seed <= some_of(10); ++seed) {
    WorldConfig config;
    config.seed = seed;
    config.links = 3;
    config.loss = 0.3;
    config.reorder = 0.1;
    config.duplicate = 0.1;
    World world(config);
    world[0].send(1, 1000, 1000);
    world[1].send(0, 1000, 1000);
    ASSERT_TRUE(world.run(milliseconds(30'000), [&] {
      return world[1].got_packets >= 1000 && world[0].got_packets >= 1000 && world.all_flushed();
    }));
    EXPECT_EQ(world[0].wrong + world[1].wrong, 0u);
    EXPECT_TRUE(world[0].lost.empty() && world[1].lost.empty());
  }
}

// Adds up, from the acks that leave node 0, the credit of all senders.
class Credits {
 public:
  Credits(World& world, int senders)
      : limit_(static_cast<std::size_t>(senders) + 1, 0xffffff00u + world.config.mesh.eager_packets) {
    world.watch = [this, &world](const Tx& tx, PeerId from) {
      const auto& head = *reinterpret_cast<const wire::DatagramHead*>(tx.datagram.data());
      if (from != 0 || (head.flags & wire::kFlagAck) == 0) return;
      const wire::AckPart ack =
          wire::read_ack(tx.datagram.subspan(sizeof head, wire::head_bytes(head.flags) - sizeof head));
      limit_[static_cast<std::size_t>(tx.to)] = ack.credit;
      std::int64_t all = 0;
      for (std::size_t peer = 1; peer < limit_.size(); ++peer) {
        const auto came =
            static_cast<std::uint32_t>(0xffffff00u + world[0].expected[static_cast<PeerId>(peer)]);
        all += std::max(0, static_cast<std::int32_t>(limit_[peer] - came));
      }
      most = std::max(most, all);
    };
  }
  std::int64_t most = 0;

 private:
  std::vector<std::uint32_t> limit_;
};

TEST(RelCredits, granted_credit_stays_within_the_budget) {
  WorldConfig config;
  config.nodes = 8;
  config.bits_per_second = 1e8;
  config.switch_bytes = 256 << 10;
  config.mesh.eager_packets = eager_window(config.mesh.budget_bytes, config.mesh.datagram_bytes, 7);
  World world(config);
  Credits credits(world, 7);
  for (PeerId from = 1; from < 8; ++from) {
    world[from].send(0, 700, 1450);  // one packet is one datagram
    world.run(milliseconds(20));
  }
  ASSERT_TRUE(world.run(milliseconds(5000), [&] { return world[0].got_packets == 7 * 700; }));
  EXPECT_LE(credits.most, (192 << 10) / 1472);
  EXPECT_GT(credits.most, 100);
  EXPECT_EQ(world[0].wrong, 0u);
  // A queue of 16 ms before the first round-trip sample is no loss, and spurious retransmissions must not
  // cause more of them.
  for (PeerId from = 1; from < 8; ++from) EXPECT_LT(world[from].mesh.counters().resent, 10u);
}

TEST(RelCredits, concurrent_senders_get_about_the_same_rate) {
  WorldConfig config;
  config.nodes = 5;
  config.bits_per_second = 1e8;
  World world(config);
  for (PeerId from = 1; from < 5; ++from) world[from].send(0, UINT32_MAX, 1450);
  world.run(milliseconds(500));
  std::uint64_t least = UINT64_MAX, most = 0;
  for (PeerId from = 1; from < 5; ++from) {
    least = std::min(least, world[0].expected[from]);
    most = std::max(most, world[0].expected[from]);
  }
  EXPECT_GT(static_cast<double>(least), 0.8 * static_cast<double>(most));
}

TEST(RelCredits, credit_comes_back_when_a_stream_ends) {
  WorldConfig config;
  config.nodes = 3;
  config.bits_per_second = 1e9;
  World world(config);
  for (int round = 0; round < 5; ++round) {
    for (PeerId from = 1; from < 3; ++from) {
      const std::uint64_t before = world[0].got_bytes;
      const Instant start = world.now();
      world[from].flows[0].packets = 0;
      world[from].send(0, 2000, 1450);
      ASSERT_TRUE(world.run(milliseconds(1000), [&] { return world[0].got_bytes == before + 2000 * 1450; }));
      const double seconds = static_cast<double>((world.now() - start).ns) * 1e-9;
      EXPECT_GT(2000 * 1450 * 8 / seconds, 0.9e9) << "round " << round << " from " << from;
    }
  }
}

}  // namespace
}  // namespace herald::rel
