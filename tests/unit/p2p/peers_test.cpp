// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong with peers that come at run time: operations, packets or messages of the peers before
// them are lost when their table grows; the order of the peers with something to send changes; a new peer
// cannot be talked to.
#include <gtest/gtest.h>

#include "tests/unit/p2p/world.hpp"

using namespace herald;
using namespace herald::test;

TEST(P2pPeers, a_table_that_grows_keeps_what_is_under_way) {
  for (const bool far : {false, true}) {
    World world(p2p::CoreConfig{.peers = 2, .push_bytes = 100, .remote_first = 100, .remote_more = 300}, far,
                200);
    Send partly(world, 0, 1, 1, random_bytes(5000, 1)), queued(world, 0, 1, 2, random_bytes(50, 2));
    world.transmit(0, 1);
    world.deliver(0, 1);
    Recv recv(world, 1, 0, 1, 5000);
    Send to_self(world, 0, 0, 7, random_bytes(20, 3));
    EXPECT_EQ(world.core(0).peers().next_wanting(), 1);
    EXPECT_EQ(world.core(0).peers().add(), 2);
    EXPECT_EQ(world.core(1).peers().add(), 2);
    for (int i = 3; i < 100; ++i) EXPECT_EQ(world.core(0).peers().add(), i);
    EXPECT_EQ(world.core(0).peers().wanting(), 2u);
    EXPECT_EQ(world.core(0).peers().next_wanting(), 0) << "each in its turn";
    EXPECT_EQ(world.core(0).peers().next_wanting(), 1);
    Recv second(world, 1, 0, 2, 50), mine(world, 0, 0, 7, 20);
    world.settle();
    EXPECT_TRUE(partly.done && queued.done && to_self.done);
    EXPECT_EQ(recv.buffer, partly.bytes);
    EXPECT_EQ(second.buffer, queued.bytes);
    EXPECT_EQ(mine.buffer, to_self.bytes);
    EXPECT_EQ(world.core(0).counters().bad_packets + world.core(1).counters().bad_packets, 0u);
  }
}

TEST(P2pPeers, messages_go_to_a_peer_that_came_later) {
  p2p::Core first({.peers = 1, .me = 0}), later({.peers = 2, .me = 1});
  ASSERT_EQ(first.peers().add(), 1);
  Bytes out = random_bytes(30, 1), in(30);
  p2p::SendOp send;
  send.to = 1;
  send.context = 1;
  send.data = type::Cursor::bytes(out.data(), out.size());
  p2p::RecvOp recv;
  recv.context = 1;
  recv.source = recv.awaited = 0;
  recv.tag = 0;
  recv.data = type::Cursor::bytes(in.data(), in.size());
  later.start(recv);
  first.start(send);
  std::byte room[200];
  const std::size_t size = first.poll_transmit(first.peers().next_wanting(), room);
  EXPECT_EQ(later.on_packet(0, {room, size}), Status::ok);
  EXPECT_TRUE(recv.done);
  EXPECT_EQ(in, out);
  const wire::GoodbyePacket goodbye{wire::p2p_prefix(wire::P2pKind::goodbye)};
  EXPECT_EQ(first.on_packet(1, std::as_bytes(std::span(&goodbye, 1))), Status::ok);
  EXPECT_TRUE(first.is_gone(1));
  EXPECT_EQ(first.on_packet(2, std::as_bytes(std::span(&goodbye, 1))), Status::ok);
  EXPECT_EQ(first.counters().bad_packets, 1u) << "no such peer yet";
}
