// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong with receives that are advertised to their senders: a message overtakes another one of
// the same sender, or goes past a receive that was posted before; a receive that was cancelled, or got
// something else, is written to all the same; one side waits for a word that the other thinks needless; the
// message of a sender that has exited is lost though all of it is there; an ad that was not taken keeps its
// place for ever.
#include <gtest/gtest.h>

#include "tests/unit/p2p/world.hpp"

using namespace herald;
using namespace herald::test;

namespace {

struct Near : World {
  explicit Near(std::uint32_t most_pulls = p2p::kMostIds)
      : World(p2p::CoreConfig{.peers = 3, .push_bytes = 100, .direct_bytes = 1000, .most_pulls = most_pulls},
              false, 2000) {
    open_direct();
  }
  void move_all(int peer) {
    while (move(peer)) {
    }
  }
  void carry(int from, int to) {
    while (transmit(from, to) != nullptr || deliver(from, to)) {
    }
  }
  // Whether its sender has something to move.
  bool takes(int from) {
    const std::uint64_t before = copier.written_bytes;
    move(from);
    return copier.written_bytes != before;
  }
  std::uint64_t bad_packets() { return core(0).counters().bad_packets + core(1).counters().bad_packets; }
};

}  // namespace

TEST(P2pPostedRecv, a_receiver_that_computes_has_nothing_left_to_do) {
  for (const p2p::SendMode mode : {p2p::SendMode::standard, p2p::SendMode::synchronous}) {
    Near world;
    Recv recv(world, 1, 0, 5, kLong);
    Send send(world, 0, 1, 5, random_bytes(kLong, 7), 1, mode);
    ASSERT_NE(world.transmit(0, 1), nullptr);
    world.move_all(0);
    EXPECT_TRUE(send.done) << "the receiver is not needed for that";
    EXPECT_EQ(recv.buffer, send.bytes);
    EXPECT_EQ(world.copier.written_bytes, kLong);
    EXPECT_FALSE(recv.done);
    world.carry(0, 1);
    EXPECT_TRUE(recv.done);
    EXPECT_EQ(recv.bytes, kLong);
    EXPECT_FALSE(world.core(1).wants_to_send()) << "the sender knows";
    world.settle();
    EXPECT_EQ(world.bad_packets(), 0u);
    EXPECT_EQ(world.copier.read_bytes, 0u);
  }
}

TEST(P2pPostedRecv, two_who_are_there_move_a_part_each) {
  Near world;
  Recv recv(world, 1, 0, 5, kLong);
  Send send(world, 0, 1, 5, random_bytes(kLong, 7));
  world.transmit(0, 1);
  world.move(0);
  world.deliver(0, 1);
  EXPECT_FALSE(world.core(1).wants_to_send()) << "no split copy packet for a copy under way";
  world.move(1);
  world.settle();
  EXPECT_TRUE(send.done && recv.done);
  EXPECT_EQ(recv.buffer, send.bytes);
  EXPECT_EQ(world.copier.written_bytes + world.copier.read_bytes, kLong) << "each byte once";
  EXPECT_GT(world.copier.read_bytes, kLong / 4);
}

// Where no more receives can have a number, the one whose place its sender writes to is not among those that
// fail.
TEST(P2pPostedRecv, a_receive_that_is_taken_does_not_fail_for_want_of_a_number) {
  Near world(1);
  Recv recv(world, 1, 0, 5, kLong);
  Send send(world, 0, 1, 5, random_bytes(kLong, 7));
  world.transmit(0, 1);
  ASSERT_TRUE(world.takes(0));
  Recv other(world, 1, 2, 6, 5000);
  Send more(world, 2, 1, 6, random_bytes(5000, 8));
  world.carry(2, 1);
  EXPECT_TRUE(other.done);
  EXPECT_EQ(other.status, Status::no_memory);
  EXPECT_FALSE(recv.done);
  world.settle();
  EXPECT_TRUE(send.done && recv.done && more.done);
  EXPECT_EQ(recv.status, Status::ok);
  EXPECT_EQ(recv.buffer, send.bytes);
}

TEST(P2pPostedRecv, a_receive_without_an_id_is_not_advertised) {
  Near world(1);
  Recv other(world, 1, 2, 6, kLong);  // has it
  Recv recv(world, 1, 0, 5, kLong);
  const Bytes before = recv.buffer;
  Send send(world, 0, 1, 5, random_bytes(kLong, 7));
  world.transmit(0, 1);
  EXPECT_FALSE(world.takes(0));
  world.settle();
  EXPECT_TRUE(send.done && recv.done);
  EXPECT_EQ(recv.status, Status::no_memory);
  EXPECT_EQ(recv.buffer, before) << "no sender writes to it any more";
  world.core(1).cancel(other);  // its number is free again
  Recv again(world, 1, 0, 5, kLong);
  Send last(world, 0, 1, 5, random_bytes(kLong, 9));
  world.settle();
  EXPECT_TRUE(other.done && again.done && last.done);
  EXPECT_EQ(again.buffer, last.bytes);
}

// An ad that is withdrawn for a short message releases its id.
TEST(P2pPostedRecv, ids_of_ads_are_released) {
  Near world(1);
  for (int i = 0; i < 5; ++i) {
    Recv recv(world, 1, 0, 5, kLong);
    Send send(world, 0, 1, 5, random_bytes(i % 2 == 0 ? 50 : kLong, 7));
    world.settle();
    ASSERT_TRUE(recv.done && send.done);
    ASSERT_EQ(recv.status, Status::ok) << i;
  }
}

TEST(P2pPostedRecv, messages_on_their_way_are_not_overtaken) {
  Near world;
  Send first(world, 0, 1, 5, random_bytes(50, 1));  // fits too, and is on its way
  world.transmit(0, 1);
  Recv recv(world, 1, 0, 5, kLong), after(world, 1, 0, 5, kLong);
  Send second(world, 0, 1, 5, random_bytes(kLong, 2));
  world.settle();
  EXPECT_TRUE(recv.done && after.done && first.done && second.done);
  EXPECT_EQ(recv.bytes, 50u);
  EXPECT_EQ(after.buffer, second.bytes);
}

TEST(P2pPostedRecv, another_message_in_between_renews_it) {
  Near world;
  Recv recv(world, 1, 0, 5, kLong);
  Send other(world, 0, 1, 6, random_bytes(50, 1));
  world.transmit(0, 1);
  {
    Send early(world, 0, 1, 5, random_bytes(2000, 2));
    world.transmit(0, 1);
    EXPECT_FALSE(world.takes(0)) << "the receiver has not seen the other one";
    world.settle();
    EXPECT_TRUE(early.done && recv.done);
  }
  Recv again(world, 1, 0, 5, kLong), last(world, 1, 0, 6, 100), yet(world, 1, 0, 6, 100);
  Send more(world, 0, 1, 6, random_bytes(50, 1));
  world.carry(0, 1);
  EXPECT_TRUE(last.done);
  Send late(world, 0, 1, 5, random_bytes(kLong, 3));
  world.transmit(0, 1);
  EXPECT_TRUE(world.takes(0)) << "it has seen all that was sent";
  world.settle();
  EXPECT_TRUE(again.done);
  EXPECT_EQ(again.buffer, late.bytes);
  EXPECT_EQ(world.bad_packets(), 0u);
  world.core(1).cancel(yet);
}

TEST(P2pPostedRecv, a_receive_that_was_posted_before_comes_first) {
  for (const bool any_source : {false, true}) {
    Near world;
    Recv wild(world, 1, any_source ? p2p::kAnySource : 0, p2p::kAnyTag, kLong);
    Recv recv(world, 1, 0, 5, kLong);
    Send send(world, 0, 1, 5, random_bytes(kLong, 7));
    world.transmit(0, 1);
    EXPECT_FALSE(world.takes(0));
    world.settle();
    EXPECT_TRUE(wild.done);
    EXPECT_EQ(wild.buffer, send.bytes);
    EXPECT_FALSE(recv.done);
    world.core(1).cancel(recv);
    EXPECT_TRUE(recv.cancelled);
  }
}

TEST(P2pPostedRecv, what_is_cancelled_is_not_written_and_what_is_written_is_not_cancelled) {
  Near world;
  Recv recv(world, 1, 0, 5, kLong);
  world.core(1).cancel(recv);
  EXPECT_TRUE(recv.done && recv.cancelled);
  Send send(world, 0, 1, 5, random_bytes(kLong, 7));
  world.transmit(0, 1);
  EXPECT_FALSE(world.takes(0));
  world.deliver(0, 1);
  Recv late(world, 1, 0, 5, kLong);
  world.settle();
  EXPECT_TRUE(late.done && send.done);

  Recv kept(world, 1, 0, 5, kLong);
  Send taken(world, 0, 1, 5, random_bytes(kLong, 8));
  world.transmit(0, 1);
  EXPECT_TRUE(world.takes(0));
  world.core(1).cancel(kept);
  EXPECT_FALSE(kept.cancelled);
  world.settle();
  EXPECT_TRUE(kept.done && taken.done);
  EXPECT_EQ(kept.buffer, taken.bytes);
  EXPECT_EQ(world.bad_packets(), 0u);
}

TEST(P2pPostedRecv, what_does_not_fit_goes_as_ever) {
  Near world;
  Recv small(world, 1, 0, 5, 5000);
  Send send(world, 0, 1, 5, random_bytes(kLong, 7));
  world.settle();
  EXPECT_TRUE(small.done && send.done);
  EXPECT_EQ(small.status, Status::truncated);
  EXPECT_TRUE(std::equal(small.buffer.begin(), small.buffer.end(), send.bytes.begin()));
  Recv recv(world, 1, 0, 5, kLong);
  Send little(world, 0, 1, 5, random_bytes(10, 1));
  world.settle();
  EXPECT_TRUE(recv.done);
  EXPECT_EQ(recv.bytes, 10u);
}

TEST(P2pPostedRecv, memory_that_cannot_be_written_is_read_or_pulled) {
  Near world;
  world.copier.fails_one_in = 1;
  Recv recv(world, 1, 0, 5, kLong);
  Send send(world, 0, 1, 5, random_bytes(kLong, 7));
  world.settle();
  EXPECT_TRUE(recv.done && send.done);
  EXPECT_EQ(recv.buffer, send.bytes);
  EXPECT_EQ(world.bad_packets(), 0u);
}

TEST(P2pPostedRecv, a_sender_that_is_done_may_go_home) {
  Near world;
  Recv recv(world, 1, 0, 5, kLong), other(world, 1, 0, 6, kLong);
  Send send(world, 0, 1, 5, random_bytes(kLong, 7));
  world.transmit(0, 1);
  world.move_all(0);
  ASSERT_TRUE(send.done);
  world.deliver(0, 1);
  world.core(1).on_peer_gone(0);
  world.core(1).run_finished();
  EXPECT_TRUE(recv.done && other.done);
  EXPECT_EQ(recv.status, Status::ok);
  EXPECT_EQ(recv.buffer, send.bytes);
  EXPECT_EQ(other.status, Status::peer_lost);
}

TEST(P2pPostedRecv, nor_is_it_lost_where_the_two_met) {
  Near world;
  Send send(world, 0, 1, 5, random_bytes(kLong, 7));
  world.carry(0, 1);
  Recv recv(world, 1, 0, 5, kLong);  // calls the sender, and is away then
  world.carry(1, 0);
  world.move_all(0);
  EXPECT_TRUE(send.done);
  EXPECT_FALSE(recv.done);
  world.core(1).on_peer_gone(0);
  world.core(1).run_finished();
  EXPECT_TRUE(recv.done);
  EXPECT_EQ(recv.status, Status::ok);
  EXPECT_EQ(recv.buffer, send.bytes);
}

TEST(P2pPostedRecv, one_that_lost_its_sender_is_over) {
  Near world;
  Recv recv(world, 1, 0, 5, kLong);
  world.core(1).on_peer_gone(0);
  world.core(1).run_finished();
  EXPECT_TRUE(recv.done);
  EXPECT_EQ(recv.status, Status::peer_lost);
  Send send(world, 0, 1, 5, random_bytes(kLong, 7));
  world.transmit(0, 1);
  EXPECT_FALSE(world.takes(0)) << "no receive waits for it";
  world.core(0).on_peer_gone(1);
}

TEST(P2pPostedRecv, a_message_that_is_on_its_way_can_still_take_it) {
  Near world;
  Send send(world, 0, 1, 5, random_bytes(kLong, 7));
  world.transmit(0, 1);
  EXPECT_FALSE(world.takes(0));
  Recv recv(world, 1, 0, 5, kLong);
  world.move_all(0);
  EXPECT_TRUE(send.done);
  EXPECT_FALSE(recv.done);
  world.settle();
  EXPECT_TRUE(recv.done);
  EXPECT_EQ(recv.buffer, send.bytes);
}

TEST(P2pPostedRecv, an_ad_that_is_not_taken_makes_room_for_a_split_copy) {
  Near world;
  Recv recv(world, 1, 0, 5, kLong);
  Send send(world, 0, 1, 5, random_bytes(kLong, 7));
  world.core(1).cancel(recv);
  Recv again(world, 1, 0, 5, kLong);
  EXPECT_NE(again.direct, nullptr) << "its place is free";
  world.core(1).cancel(again);
  Recv wild(world, 1, 0, p2p::kAnyTag, kLong);
  EXPECT_EQ(wild.direct, nullptr) << "it may match any message";
  world.settle();
  EXPECT_TRUE(send.done && wild.done);
  EXPECT_EQ(wild.buffer, send.bytes);
  EXPECT_EQ(world.bad_packets(), 0u);
}

TEST(P2pPostedRecv, a_stranger_does_not_get_it) {
  Near world;
  Recv recv(world, 1, 0, 5, kLong);
  Send real(world, 2, 1, 5, random_bytes(kLong, 8));
  world.transmit(2, 1);
  Bytes packet = world.link(2, 1).front();
  world.link(2, 1).pop_front();
  reinterpret_cast<wire::EagerPacket*>(packet.data())->source = 0;
  world.link(2, 1).push_back(packet);
  world.settle();
  EXPECT_TRUE(recv.done && real.done);
  EXPECT_EQ(recv.buffer, real.bytes);
}
