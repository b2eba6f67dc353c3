// SPDX-License-Identifier: BSD-3-Clause
// A packet that is reserved, committed and polled by itself. What could go wrong: it overtakes packets that
// wait, leaves without credit, or is not retransmitted when it is lost; the mesh reports no work although it
// has some.
#include "tests/unit/rel/world.hpp"

namespace herald::rel {
namespace {

// Node 0 has exchanged packets with node 1.
void acquaint(World& world) {
  world[0].send(1, 1, 40);
  ASSERT_TRUE(
      world.run(milliseconds(1000), [&] { return world[1].got_packets == 1 && world.all_flushed(); }));
}

// Sends the next packet of node 0; false: refused. `left`: the datagram is lost, and copied there.
bool send_now(World& world, std::size_t bytes, std::vector<std::byte>* left = nullptr) {
  Mesh& mesh = world[0].mesh;
  const std::span<std::byte> room = mesh.reserve(1, 1);
  if (room.size() < bytes) return false;
  const std::uint64_t number = world[0].flows[1].next++;
  std::memset(room.data(), static_cast<int>(number & 0xff), bytes);
  std::memcpy(room.data(), &number, 8);
  mesh.commit(1, bytes);
  const auto batch = std::make_unique<TxBatch>();
  EXPECT_EQ(mesh.poll_transmit(world.now(), *batch), 1u);
  const Tx tx = batch->entries[0];
  EXPECT_EQ(tx.to, 1);
  EXPECT_TRUE(tx.rest.empty());
  if (left != nullptr)
    left->assign(tx.datagram.begin(), tx.datagram.end());
  else
    world[1].mesh.on_datagram(world.now(), 0, tx.datagram);
  return true;
}

TEST(RelSingleSend, a_packet_arrives_at_once_and_is_acknowledged) {
  World world((WorldConfig()));
  acquaint(world);
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(send_now(world, 40)) << i;
    world.settle(1);
    world.run(microseconds(200));
  }
  EXPECT_EQ(world[1].got_packets, 1001u);
  EXPECT_EQ(world[1].wrong, 0u);
  world.settle(0);
  EXPECT_TRUE(world.run(milliseconds(1000), [&] { return world.all_flushed(); }));
  EXPECT_EQ(world[0].mesh.counters().resent, 0u);
}

TEST(RelSingleSend, a_lost_packet_is_retransmitted) {
  World world((WorldConfig()));
  acquaint(world);
  std::vector<std::byte> lost;
  ASSERT_TRUE(send_now(world, 40, &lost));
  world.settle(0);
  EXPECT_FALSE(world[0].mesh.is_flushed());
  ASSERT_TRUE(world.run(milliseconds(1000), [&] { return world[1].got_packets == 2; }));
  EXPECT_EQ(world[1].wrong, 0u);
  EXPECT_EQ(world[0].mesh.counters().resent, 1u);
}

TEST(RelSingleSend, it_is_refused_without_a_peer_and_follows_packets_that_wait) {
  World unknown((WorldConfig()));
  EXPECT_TRUE(unknown[0].mesh.reserve(0, 1).empty());  // ourselves
  EXPECT_TRUE(unknown[0].mesh.reserve(7, 1).empty());
  EXPECT_TRUE(send_now(unknown, 40));  // to a peer that was never used

  World world((WorldConfig()));
  acquaint(world);
  EXPECT_FALSE(world[0].mesh.has_work());
  world[0].flows[1].packets = 1;
  world[0].flows[1].bytes = 40;
  world[0].pump(1);  // committed, and not yet transmitted
  EXPECT_TRUE(world[0].mesh.has_work());
  EXPECT_TRUE(send_now(world, 40));  // both leave in one datagram, in order
  EXPECT_EQ(world[1].got_packets, 3u);
  world.settle(0);
  EXPECT_FALSE(world[0].mesh.has_work());
  EXPECT_TRUE(send_now(world, 40));
  world.settle(1);
  ASSERT_TRUE(world.run(milliseconds(1000), [&] { return world[1].got_packets == 4; }));
  EXPECT_EQ(world[1].wrong, 0u);

  world[0].mesh.forget_peer(1);
  EXPECT_FALSE(send_now(world, 40));
}

// As many packets leave as there is credit for, whether each is polled by itself or not.
TEST(RelSingleSend, it_ends_where_the_credit_ends) {
  WorldConfig config;
  config.mesh.eager_packets = 4;
  int sent[2] = {};
  for (const bool at_once : {true, false}) {
    World world(config);
    acquaint(world);
    world.cut = [](PeerId, PeerId, LinkId) { return true; };
    std::vector<std::byte> left;
    if (at_once)
      while (send_now(world, 1000, &left)) ++sent[0];
    else
      for (; !world[0].mesh.reserve(1, 1000).empty(); world.settle(0), ++sent[1])
        world[0].mesh.commit(1, 1000);
    EXPECT_TRUE(world[0].mesh.reserve(1, 1000).empty());
  }
  EXPECT_EQ(sent[0], sent[1]);
  EXPECT_GE(sent[0], 4);
}

TEST(RelSingleSend, it_carries_the_ack_that_is_owed) {
  World world((WorldConfig()));
  acquaint(world);
  world[1].send(0, 40, 1000);
  ASSERT_TRUE(world.run(microseconds(1000), [&] { return world[0].got_packets == 1; }));
  bool told = false;
  for (int i = 0; i < 40; ++i) {
    std::vector<std::byte> left;
    world.run(microseconds(60));
    if (!send_now(world, 300, &left)) continue;
    told = told || left.size() > sizeof(wire::DatagramHead) + 300;
    world[1].mesh.on_datagram(world.now(), 0, left);
    world.settle(1);
  }
  EXPECT_TRUE(told);
  ASSERT_TRUE(
      world.run(milliseconds(1000), [&] { return world[0].got_packets == 40 && world.all_flushed(); }));
  EXPECT_EQ(world[0].wrong + world[1].wrong, 0u);
}

}  // namespace
}  // namespace herald::rel
