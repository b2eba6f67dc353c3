// SPDX-License-Identifier: BSD-3-Clause
// Packets that borrow the memory of their sender. What could go wrong: memory is returned while a
// retransmission may still read it, or never; a second packet is written behind the head of a packet whose
// body is borrowed; the transmitter waits for whole rows when no ack is to come.
#include "tests/unit/rel/world.hpp"

namespace herald::rel {
namespace {

TEST(RelZeroCopy, every_byte_arrives_and_all_memory_is_returned) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    WorldConfig config;
    config.borrows = true;
    config.seed = seed;
    config.loss = seed % 2 == 0 ? 0.1 : 0;
    config.reorder = seed % 3 == 0 ? 0.2 : 0;
    config.corrupt = seed % 4 == 0 ? 0.01 : 0;
    World world(config);
    world[0].send_bytes(1, 1 << 20);
    world[1].send(0, 300, 40);
    ASSERT_TRUE(world.run(
        milliseconds(60'000),
        [&] { return world[1].got_bytes >= 1 << 20 && world[0].got_packets == 300 && world.all_flushed(); }))
        << "seed " << seed;
    EXPECT_EQ(world[0].wrong + world[1].wrong, 0u) << "seed " << seed;
    EXPECT_TRUE(world[0].borrowed[1].empty() && world[1].borrowed[0].empty()) << "seed " << seed;
    EXPECT_GT(world[0].got_back, 600u);
  }
}

TEST(RelZeroCopy, memory_is_borrowed_until_the_ack) {
  WorldConfig config;
  config.borrows = true;
  World world(config);
  world.cut = [](PeerId from, PeerId, LinkId) { return from == 1; };
  world[0].send(1, 1, 1000);
  world.run(milliseconds(50));
  EXPECT_EQ(world[1].got_packets, 1u);
  EXPECT_EQ(world[0].got_back, 0u);
  EXPECT_EQ(world[0].borrowed[1].size(), 1u);
  world.cut = nullptr;
  EXPECT_TRUE(world.run(milliseconds(1000), [&] { return world[0].got_back == 1; }));
}

// An erroneous program: the receiver gets other bytes, but the network does not count as broken.
TEST(RelZeroCopy, memory_that_changes_is_retransmitted_as_it_is) {
  WorldConfig config;
  config.borrows = true;
  World world(config);
  world.cut = [](PeerId from, PeerId, LinkId) { return from == 0; };
  world[0].send(1, 1, 1000);
  world.run(microseconds(100));
  world[0].borrowed[1].front().back() = std::byte{0xff};
  world.cut = nullptr;
  EXPECT_TRUE(world.run(milliseconds(1000), [&] { return world[0].got_back == 1; }));
  EXPECT_EQ(world[1].wrong, 1u);
  EXPECT_EQ(world[1].mesh.counters().forged, 0u);
}

TEST(RelZeroCopy, a_small_packet_does_not_share_the_datagram_of_a_borrowing_one) {
  WorldConfig config;
  config.borrows = true;
  World world(config);
  Mesh& mesh = world[0].mesh;
  for (int number = 0; number < 3; ++number) {  // without a transmission between
    Node::Flow& flow = world[0].flows[1];
    flow.packets += 1;
    flow.bytes = number == 0 ? 100 : 12;
    world[0].pump(1);
    EXPECT_EQ(number == 0, mesh.may_borrow() && world[0].borrowed[1].size() == 1 && flow.next == 1);
  }
  world.settle(0);
  ASSERT_TRUE(world.run(milliseconds(1000), [&] { return world[1].got_packets == 3; }));
  EXPECT_EQ(world[1].wrong, 0u);
}

// Counts the datagrams of each batch.
TEST(RelZeroCopy, whole_rows_leave_while_more_packets_wait) {
  WorldConfig config;
  config.bits_per_second = 1e10;
  config.mesh.row_packets = 40;
  config.mesh.burst_packets = 40;
  config.mesh.budget_bytes = 133 * 1472;
  World world(config);
  std::map<std::int64_t, int> went;
  world.watch = [&](const Tx& tx, PeerId from) {
    if (from == 0 && tx.datagram.size() > 1000) ++went[world.now().ns];
  };
  world[0].send_bytes(1, 4 << 20);
  ASSERT_TRUE(world.run(milliseconds(1000), [&] { return world[1].got_bytes >= 4 << 20; }));
  EXPECT_EQ(world[1].wrong, 0u);
  std::size_t broken = 0;
  for (const auto& [when, packets] : went) broken += packets % 40 != 0;
  EXPECT_LE(broken, went.size() / 4) << "of " << went.size();
}

}  // namespace
}  // namespace herald::rel
