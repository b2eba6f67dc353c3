// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a message to all is taken for one to a single peer that has the same number, or the
// other way round; it overtakes or is overtaken where MPI's order forbids; bytes of unexpected casts
// pile up; it counts as pushed by unicast.
#include <gtest/gtest.h>

#include "tests/unit/p2p/world.hpp"

using namespace herald;
using namespace herald::test;

namespace {

struct Cast : p2p::SendOp {
  Bytes bytes;
  Cast(World& world, int from, std::int32_t tag_, Bytes data_) : bytes(std::move(data_)) {
    lane = 3;
    source = from;
    tag = tag_;
    context = 1;
    data = type::Cursor::bytes(bytes.data(), bytes.size());
    world.core(from).start(*this);
  }
};

// The lane: every packet goes to every other member, in order; a member that does not take one gets it later.
class Lane {
 public:
  Lane(World& world, int from)
      : world_(world), from_(from), links_(static_cast<std::size_t>(world.peers())) {}
  void transmit() {
    while (world_.core(from_).casts().wants_to_send(3)) {
      Bytes room(kPacket);
      room.resize(world_.core(from_).casts().poll_transmit(3, std::as_writable_bytes(std::span(room))));
      for (auto& link : links_) link.push_back(room);
    }
    world_.core(from_).run_finished();
  }
  // True if all was taken.
  bool deliver(int to) {
    auto& link = links_[static_cast<std::size_t>(to)];
    for (; !link.empty(); link.pop_front())
      if (world_.core(to).on_packet(from_, std::as_bytes(std::span(link.front()))) != Status::ok)
        return false;
    world_.core(to).run_finished();
    return true;
  }

 private:
  World& world_;
  int from_;
  std::vector<std::deque<Bytes>> links_;
};

World hosts(std::uint32_t unexpected = 2000) {
  return World(
      p2p::CoreConfig{
          .peers = 3, .remote_more = 500, .remote_allowance = 1000, .cast_unexpected = unexpected},
      true, kPacket);
}

}  // namespace

TEST(P2pCast, one_message_reaches_early_and_late_receivers) {
  for (const std::size_t bytes :
       {std::size_t{0}, std::size_t{8}, std::size_t{160}, std::size_t{161}, std::size_t{900}}) {
    World world = hosts();
    Lane lane(world, 0);
    Recv early(world, 1, 0, 7, 900);
    Cast cast(world, 0, 7, random_bytes(bytes, 1));
    lane.transmit();
    EXPECT_TRUE(cast.done);
    EXPECT_TRUE(lane.deliver(1) && lane.deliver(2));
    Recv late(world, 2, 0, 7, 900);
    for (const Recv* recv : {&early, &late}) {
      EXPECT_TRUE(recv->done && recv->bytes == bytes);
      EXPECT_TRUE(std::equal(cast.bytes.begin(), cast.bytes.end(), recv->buffer.begin()));
    }
    EXPECT_EQ(world.core(2).messages_held(), 0u);
  }
}

// One member's part of what another has for several: in packets with the others'.
struct Dealt : p2p::SendOp {
  Bytes bytes;
  Dealt(World& world, int from, int to_, std::int32_t tag_, Bytes data_) : bytes(std::move(data_)) {
    lane = 3;
    bundled = true;
    to = to_;
    source = from;
    tag = tag_;
    context = 1;
    data = type::Cursor::bytes(bytes.data(), bytes.size());
    world.core(from).start(*this);
  }
};

TEST(P2pCast, each_takes_its_part_of_a_bundle) {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{8}, std::size_t{60}, std::size_t{900}}) {
    World world = hosts();
    Lane lane(world, 0);
    Recv early(world, 1, 0, 7, 900);
    Dealt one(world, 0, 1, 7, random_bytes(bytes, 1)), other(world, 0, 2, 7, random_bytes(8, 2));
    Cast all(world, 0, 9, random_bytes(20, 3));
    Dealt more(world, 0, 1, 8, random_bytes(8, 4));
    lane.transmit();
    EXPECT_TRUE(one.done && other.done && all.done && more.done);
    EXPECT_TRUE(lane.deliver(1) && lane.deliver(2));
    Recv late(world, 2, 0, 7, 8), mine(world, 1, 0, 8, 8);
    EXPECT_TRUE(early.done && early.bytes == bytes);
    EXPECT_TRUE(std::equal(one.bytes.begin(), one.bytes.end(), early.buffer.begin()));
    EXPECT_TRUE(late.done && late.buffer == other.bytes);
    EXPECT_TRUE(mine.done && mine.buffer == more.bytes);
    Recv first(world, 1, 0, 9, 20), second(world, 2, 0, 9, 20);
    EXPECT_TRUE(first.done && second.done && first.buffer == all.bytes);
    for (const int peer : {1, 2}) {
      EXPECT_EQ(world.core(peer).messages_held(), 0u);
      EXPECT_EQ(world.core(peer).counters().bad_packets, 0u);
    }
  }
}

// A packet that is not taken comes again: what was taken of it must not be taken twice.
TEST(P2pCast, a_bundle_that_is_held_back_is_taken_once) {
  World world = hosts(300);
  Lane lane(world, 0);
  std::vector<std::unique_ptr<Dealt>> parts;
  for (std::int32_t i = 0; i < 20; ++i)
    parts.push_back(std::make_unique<Dealt>(world, 0, 1, i, random_bytes(8, static_cast<std::uint64_t>(i))));
  lane.transmit();
  EXPECT_FALSE(lane.deliver(1));
  for (std::int32_t i = 0; i < 20; ++i) {
    Recv recv(world, 1, 0, i, 8);
    (void)lane.deliver(1);
    EXPECT_TRUE(recv.done && recv.buffer == parts[static_cast<std::size_t>(i)]->bytes) << i;
  }
  EXPECT_TRUE(lane.deliver(1));
  EXPECT_EQ(world.core(1).messages_held(), 0u);
}

TEST(P2pCast, casts_without_a_receive_are_held_back) {
  World world = hosts(300);
  Lane lane(world, 0);
  Cast cast(world, 0, 7, random_bytes(5000, 1));
  lane.transmit();
  EXPECT_FALSE(lane.deliver(1));
  Recv recv(world, 1, 0, 7, 5000);
  EXPECT_FALSE(recv.done);
  EXPECT_TRUE(lane.deliver(1));
  EXPECT_TRUE(recv.done && recv.buffer == cast.bytes);
  EXPECT_EQ(world.core(1).counters().bad_packets, 0u);
}

// Collectives that are under way at once cast in any order: what is waited for may come behind what is not.
TEST(P2pCast, an_awaited_cast_is_not_held_back_by_earlier_ones) {
  World world = hosts(300);
  Lane lane(world, 0);
  Cast later(world, 0, 8, random_bytes(5000, 1));
  Cast sooner(world, 0, 7, random_bytes(100, 2));
  lane.transmit();
  EXPECT_FALSE(lane.deliver(1));
  Recv first(0, 7, 100);
  first.awaited = 0;
  world.core(1).start(first);
  EXPECT_TRUE(lane.deliver(1));
  EXPECT_TRUE(first.done && first.buffer == sooner.bytes);
  Recv second(world, 1, 0, 8, 5000);
  EXPECT_TRUE(second.done && second.buffer == later.bytes);
  EXPECT_EQ(world.core(1).messages_held(), 0u);
}

TEST(P2pCast, many_short_casts_without_a_receive_are_held_back) {
  World world = hosts(4000);
  Lane lane(world, 0);
  std::vector<std::unique_ptr<Cast>> casts;
  for (std::int32_t i = 0; i < 500; ++i)
    casts.push_back(std::make_unique<Cast>(world, 0, i, random_bytes(8, static_cast<std::uint64_t>(i))));
  lane.transmit();
  EXPECT_FALSE(lane.deliver(1));
  EXPECT_LT(world.core(1).messages_held(), 100u);
  for (std::int32_t i = 0; i < 500; ++i) {
    Recv recv(world, 1, 0, i, 8);
    (void)lane.deliver(1);
    EXPECT_TRUE(recv.done && recv.buffer == casts[static_cast<std::size_t>(i)]->bytes) << i;
  }
  EXPECT_EQ(world.core(1).messages_held(), 0u);
}

TEST(P2pCast, a_cast_and_a_push_with_the_same_number_are_two_messages) {
  World world = hosts();
  Lane lane(world, 0);
  Send send(world, 0, 1, 1, random_bytes(600, 1));
  Cast cast(world, 0, 2, random_bytes(600, 2));
  EXPECT_EQ(send.seq, cast.seq);
  lane.transmit();
  world.transmit(0, 1);
  world.deliver(0, 1);  // some of the push
  EXPECT_TRUE(lane.deliver(1));
  world.settle();
  Recv first(world, 1, 0, 1, 600), second(world, 1, 0, 2, 600);
  EXPECT_TRUE(first.done && first.buffer == send.bytes);
  EXPECT_TRUE(second.done && second.buffer == cast.bytes);
  Send again(world, 0, 1, 3, random_bytes(900, 1));  // the cast took nothing of the allowance
  EXPECT_EQ(world.core(0).counters().bad_packets + world.core(1).counters().bad_packets, 0u);
  world.settle();
  Recv third(world, 1, 0, 3, 900);
  world.settle();
  EXPECT_TRUE(third.done && again.done);
}

TEST(P2pCast, a_lane_that_closes_fails_what_waits_for_it) {
  World world = hosts();
  Cast cast(world, 0, 7, random_bytes(50, 1));
  world.core(0).casts().drop(3);
  EXPECT_TRUE(cast.done);
  EXPECT_EQ(cast.status, Status::group_lost);
  EXPECT_EQ(world.core(0).sends_under_way(), 0u);
  world.core(0).casts().drop(99);
}
