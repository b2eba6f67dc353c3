// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong where long messages are sent from where they are: a send is done while its bytes may
// still be read; it is never done; short messages wait for an answer, too; bytes that do not lie together are
// sent from the wrong place; a cancelled or a cut message is done too early.
#include <gtest/gtest.h>

#include "tests/unit/p2p/world.hpp"

using namespace herald;
using namespace herald::test;

namespace {

constexpr std::size_t kPayload = kPacket - sizeof(wire::DataPacket);

struct Borrower {
  World world{p2p::CoreConfig{.peers = 2, .remote_first = 100, .remote_more = 1000, .remote_copied = 400},
              true, kPacket};
  std::size_t borrowed_bytes = 0;
  std::uint32_t borrowed_packets = 0;

  // All that 0 has for 1, brought there; what is lent counts.
  void go() {
    p2p::Core& from = world.core(0);
    while (from.wants_to_send(1)) {
      Bytes room(kPacket);
      p2p::Borrowed borrowed;
      const std::size_t size = from.poll_transmit(1, std::as_writable_bytes(std::span(room)), &borrowed);
      from.run_finished();
      if (size == 0) continue;
      room.resize(size);
      const auto* rest = reinterpret_cast<const unsigned char*>(borrowed.data());
      room.insert(room.end(), rest, rest + borrowed.size());
      EXPECT_LE(room.size(), kPacket);
      borrowed_bytes += borrowed.size();
      borrowed_packets += !borrowed.empty();
      world.link(0, 1).push_back(std::move(room));
    }
    while (world.deliver(0, 1)) {
    }
  }
  void answer() {
    while (world.transmit(1, 0) != nullptr) {
    }
    while (world.deliver(1, 0)) {
    }
  }
  void bring() {
    go();
    answer();
    go();
  }
  void give_back(std::uint32_t packets) {
    world.core(0).sender().on_returned(1, packets);
    world.core(0).run_finished();
  }
};

}  // namespace

TEST(P2pZeroCopy, a_long_send_is_done_when_its_bytes_are_back) {
  Borrower it;
  Send send(it.world, 0, 1, 3, random_bytes(5000, 1));
  Recv recv(it.world, 1, 0, 3, 5000);
  it.bring();
  EXPECT_TRUE(recv.done);
  EXPECT_EQ(recv.buffer, send.bytes);
  EXPECT_LE(it.borrowed_bytes, 5000u - 400 - 100);
  EXPECT_GE(it.borrowed_bytes, 5000u - 400 - 100 - 2 * kPayload);
  EXPECT_FALSE(send.done);
  it.give_back(it.borrowed_packets - 1);
  EXPECT_FALSE(send.done);
  it.give_back(1);
  EXPECT_TRUE(send.done);
  EXPECT_EQ(send.status, Status::ok);
}

TEST(P2pZeroCopy, what_came_back_before_the_end_is_not_waited_for) {
  Borrower it;
  Send send(it.world, 0, 1, 3, random_bytes(5000, 1));
  it.go();
  it.give_back(it.borrowed_packets);
  const std::uint32_t before = it.borrowed_packets;
  Recv recv(it.world, 1, 0, 3, 1500);  // less than was sent: the bytes behind it are not wanted
  it.answer();
  it.go();
  EXPECT_TRUE(recv.done);
  EXPECT_EQ(recv.status, Status::truncated);
  EXPECT_EQ(it.borrowed_packets, before);
  EXPECT_TRUE(send.done);
}

TEST(P2pZeroCopy, two_sends_end_in_their_order) {
  Borrower it;
  Send first(it.world, 0, 1, 3, random_bytes(3000, 1)), second(it.world, 0, 1, 4, random_bytes(3000, 2));
  Recv one(it.world, 1, 0, 3, 3000), two(it.world, 1, 0, 4, 3000);
  it.bring();
  EXPECT_TRUE(one.done && two.done);
  EXPECT_EQ(two.buffer, second.bytes);
  EXPECT_FALSE(first.done || second.done);
  it.give_back(it.borrowed_packets - 1);
  EXPECT_TRUE(first.done);
  EXPECT_FALSE(second.done);
  it.give_back(1);
  EXPECT_TRUE(second.done);
}

TEST(P2pZeroCopy, bytes_without_an_answer_are_copied) {
  Borrower it;
  Send send(it.world, 0, 1, 3, random_bytes(1100, 1));
  it.go();
  EXPECT_TRUE(send.done);
  EXPECT_EQ(it.borrowed_packets, 0u);
}

TEST(P2pZeroCopy, a_cut_message_waits_for_its_bytes) {
  Borrower it;
  Send send(it.world, 0, 1, 3, random_bytes(5000, 1));
  Recv recv(it.world, 1, 0, 3, 10);
  it.go();
  it.answer();  // an ack: no more is wanted
  EXPECT_TRUE(recv.done);
  ASSERT_GT(it.borrowed_packets, 0u);
  EXPECT_FALSE(send.done);
  it.give_back(it.borrowed_packets);
  EXPECT_TRUE(send.done);
}

TEST(P2pZeroCopy, a_cancelled_message_waits_for_its_bytes) {
  Borrower it;
  Send send(it.world, 0, 1, 3, random_bytes(5000, 1));
  it.go();
  ASSERT_GT(it.borrowed_packets, 0u);
  it.world.core(0).cancel(send);
  it.go();
  it.answer();
  EXPECT_FALSE(send.done);
  it.give_back(it.borrowed_packets);
  EXPECT_TRUE(send.done && send.cancelled);
}

TEST(P2pZeroCopy, a_lost_peer_ends_what_waits) {
  Borrower it;
  Send send(it.world, 0, 1, 3, random_bytes(5000, 1));
  Recv recv(it.world, 1, 0, 3, 5000);
  it.bring();
  EXPECT_FALSE(send.done);
  it.world.core(0).on_peer_gone(1);
  it.world.core(0).run_finished();
  EXPECT_TRUE(send.done);
  EXPECT_EQ(send.status, Status::peer_lost);
  EXPECT_EQ(it.world.core(0).sends_under_way(), 0u);
}

TEST(P2pZeroCopy, the_beginning_of_a_long_message_is_urgent) {
  Borrower it;
  Send send(it.world, 0, 1, 3, random_bytes(5000, 1)), small(it.world, 0, 1, 3, random_bytes(50, 1));
  Bytes room(kPacket);
  ASSERT_NE(it.world.core(0).poll_transmit(1, std::as_writable_bytes(std::span(room))), 0u);
  EXPECT_TRUE(it.world.core(0).sender().take_urgent());
  EXPECT_FALSE(it.world.core(0).sender().take_urgent());
  ASSERT_NE(it.world.core(0).poll_transmit(1, std::as_writable_bytes(std::span(room))), 0u);
  EXPECT_FALSE(it.world.core(0).sender().take_urgent());
}

TEST(P2pZeroCopy, what_begins_while_another_is_under_way_is_not) {
  Borrower it;
  Send one(it.world, 0, 1, 3, random_bytes(5000, 1)), two(it.world, 0, 1, 3, random_bytes(5000, 2));
  Bytes room(kPacket);
  ASSERT_NE(it.world.core(0).poll_transmit(1, std::as_writable_bytes(std::span(room))), 0u);
  EXPECT_TRUE(it.world.core(0).sender().take_urgent());
  ASSERT_NE(it.world.core(0).poll_transmit(1, std::as_writable_bytes(std::span(room))), 0u);
  EXPECT_FALSE(it.world.core(0).sender().take_urgent());
}
