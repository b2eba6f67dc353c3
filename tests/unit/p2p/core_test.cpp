// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a send done too early or never; a receive that takes too much; messages for
// communicators that are not there yet, or no longer; cancelled messages that still arrive; bad packets that
// are followed.
#include <gtest/gtest.h>

#include "tests/unit/effort.hpp"
#include "tests/unit/p2p/world.hpp"
#include "type/build.hpp"

using namespace herald;
using namespace herald::test;
using p2p::kAnySource;
using p2p::kAnyTag;
using p2p::SendMode;

namespace {
constexpr std::uint32_t kPush = 64;
constexpr std::size_t kSmallPacket = 140;
World two() { return World(2, kPush, kSmallPacket); }
}  // namespace

TEST(P2pCore, short_standard_send_is_done_when_it_has_left) {
  World world = two();
  Send send(world, 0, 1, 3, random_bytes(kPush, 1));
  EXPECT_FALSE(send.done);
  world.transmit(0, 1);
  EXPECT_TRUE(send.done);
  Recv recv(world, 1, 0, 3, 100);
  EXPECT_FALSE(recv.done);
  world.settle();
  EXPECT_TRUE(recv.done);
  EXPECT_EQ(recv.bytes, kPush);
  recv.buffer.resize(kPush);
  EXPECT_EQ(recv.buffer, send.bytes);
}

TEST(P2pCore, long_send_pushes_little_and_is_done_only_when_pulled) {
  World world = two();
  Send send(world, 0, 1, 3, random_bytes(1000, 1));
  world.settle();
  EXPECT_FALSE(send.done);
  EXPECT_EQ(send.data.position(), kPush);  // the cost of a late receiver
  Recv recv(world, 1, 0, 3, 1000);
  EXPECT_FALSE(recv.done);
  world.settle();
  EXPECT_TRUE(send.done && recv.done);
  EXPECT_EQ(recv.buffer, send.bytes);
  EXPECT_EQ(world.core(0).sends_under_way(), 0u);
}

TEST(P2pCore, push_bytes_zero_pushes_nothing) {
  World world(2, 0, kSmallPacket);
  Send send(world, 0, 1, 3, random_bytes(10, 1));
  Recv recv(world, 1, 0, 3, 10);
  world.settle();
  EXPECT_TRUE(send.done && recv.done);
  EXPECT_EQ(recv.buffer, send.bytes);
}

TEST(P2pCore, synchronous_send_is_done_when_matched) {
  for (std::size_t bytes : {0u, 10u, 500u}) {
    World world = two();
    Send send(world, 0, 1, 3, random_bytes(bytes, 1), 1, SendMode::synchronous);
    world.settle();
    EXPECT_FALSE(send.done) << bytes;
    Recv recv(world, 1, 0, 3, bytes);
    world.settle();
    EXPECT_TRUE(send.done && recv.done) << bytes;
    EXPECT_EQ(recv.buffer, send.bytes);
  }
}

// A rank that lost a peer passes on what it has: no receiver may take it as right, compact header or not.
TEST(P2pCore, a_message_that_lacks_the_data_of_a_lost_rank_ends_its_receive_with_an_error) {
  for (std::size_t bytes : {0u, 10u, 64u, 1000u}) {
    World world = two();
    Send whole(world, 0, 1, 3, random_bytes(bytes, 1));
    Recv first(world, 1, 0, 3, bytes);
    world.settle();
    EXPECT_EQ(first.status, Status::ok) << bytes;
    Bytes data = random_bytes(bytes, 2);
    p2p::SendOp send;
    send.context = 1;
    send.to = 1;
    send.tag = 3;
    send.data = type::Cursor::bytes(data.data(), bytes);
    send.incomplete = true;
    world.core(0).start(send);
    Recv second(world, 1, 0, 3, bytes);
    world.settle();
    EXPECT_TRUE(send.done && second.done) << bytes;
    EXPECT_EQ(second.status, Status::peer_lost) << bytes;
    Send after(world, 0, 1, 3, random_bytes(bytes, 3));
    Recv third(world, 1, 0, 3, bytes);
    world.settle();
    EXPECT_EQ(third.status, Status::ok) << bytes;
  }
}

TEST(P2pCore, truncation_takes_what_fits_and_lets_the_sender_go) {
  for (std::size_t bytes : {50u, 64u, 65u, 1000u})
    for (std::size_t room : {0u, 1u, 40u, 49u})
      for (bool late : {false, true}) {
        World world = two();
        std::unique_ptr<Recv> recv;
        if (!late) recv = std::make_unique<Recv>(world, 1, 0, 3, room);
        Send send(world, 0, 1, 3, random_bytes(bytes, 1));
        world.settle();
        if (late) recv = std::make_unique<Recv>(world, 1, 0, 3, room);
        world.settle();
        EXPECT_TRUE(send.done && recv->done);
        EXPECT_EQ(send.status, Status::ok);
        EXPECT_EQ(recv->status, Status::truncated);
        EXPECT_EQ(recv->bytes, room);
        EXPECT_EQ(recv->buffer,
                  Bytes(send.bytes.begin(), send.bytes.begin() + static_cast<std::ptrdiff_t>(room)));
      }
}

TEST(P2pCore, truncation_behind_the_pushed_part_pulls_only_what_fits) {
  World world = two();
  Send send(world, 0, 1, 3, random_bytes(1000, 1));
  Recv recv(world, 1, 0, 3, 300);
  world.settle();
  EXPECT_TRUE(send.done && recv.done);
  EXPECT_EQ(recv.status, Status::truncated);
  EXPECT_EQ(recv.bytes, 300u);
  EXPECT_EQ(send.data.position(), 300u);
  EXPECT_EQ(recv.buffer, Bytes(send.bytes.begin(), send.bytes.begin() + 300));
}

TEST(P2pCore, messages_to_oneself) {
  World world(1, kPush, kSmallPacket);
  Send small(world, 0, 0, 1, random_bytes(5, 1));
  Send large(world, 0, 0, 2, random_bytes(900, 2), 1, SendMode::synchronous);
  Recv second(world, 0, 0, 2, 900);
  Recv first(world, 0, 0, 1, 5);
  world.settle();
  EXPECT_TRUE(small.done && large.done && first.done && second.done);
  EXPECT_EQ(second.buffer, large.bytes);
  EXPECT_EQ(first.buffer, small.bytes);
}

TEST(P2pCore, contexts_and_tags_keep_apart_and_wildcards_take_the_oldest) {
  World world(3, kPush, kSmallPacket);
  Send other(world, 0, 2, 5, {9}, 2);
  Send a(world, 0, 2, 5, {1});
  world.settle();
  Send b(world, 1, 2, 6, {2});
  world.settle();
  Recv by_tag(world, 2, kAnySource, 6, 1);
  EXPECT_EQ(by_tag.from_source, 1);
  Recv any(world, 2, kAnySource, kAnyTag, 1);
  EXPECT_EQ(any.from_source, 0);
  EXPECT_EQ(any.from_tag, 5);
  EXPECT_EQ(any.buffer[0], 1);
  Recv in_other(world, 2, 0, 5, 1, 2);
  EXPECT_EQ(in_other.buffer[0], 9);
}

TEST(P2pCore, probe_sees_and_take_takes) {
  World world = two();
  p2p::Found found;
  EXPECT_FALSE(world.core(1).probe(1, kAnySource, kAnyTag, found));
  Send first(world, 0, 1, 3, random_bytes(500, 1));
  Send second(world, 0, 1, 3, random_bytes(20, 2));
  world.settle();
  ASSERT_TRUE(world.core(1).probe(1, kAnySource, 3, found));
  EXPECT_EQ(found.bytes, 500u);
  EXPECT_EQ(found.source, 0);
  EXPECT_EQ(found.tag, 3);
  ASSERT_TRUE(world.core(1).matcher().take(1, 0, kAnyTag, found));
  ASSERT_NE(found.message, nullptr);
  // No other receive gets a taken message.
  Recv recv(world, 1, 0, 3, 500);
  EXPECT_EQ(recv.bytes, 20u);
  Recv matched(0, 3, 500);
  world.core(1).start_matched(matched, found.message);
  world.settle();
  EXPECT_TRUE(matched.done && first.done);
  EXPECT_EQ(matched.buffer, first.bytes);
}

TEST(P2pCore, cancel_of_a_receive) {
  World world = two();
  Recv recv(world, 1, 0, 3, 10);
  world.core(1).cancel(recv);
  EXPECT_TRUE(recv.done && recv.cancelled);
  Send send(world, 0, 1, 3, random_bytes(10, 1));
  Recv next(world, 1, 0, 3, 10);
  world.settle();
  EXPECT_TRUE(next.done);
  world.core(1).cancel(next);
  EXPECT_FALSE(next.cancelled);  // too late
}

TEST(P2pCore, cancel_of_a_send_that_is_still_here) {
  World world = two();
  Send send(world, 0, 1, 3, random_bytes(10, 1));
  world.core(0).cancel(send);
  EXPECT_TRUE(send.done && send.cancelled);
  EXPECT_FALSE(world.core(0).wants_to_send());
}

TEST(P2pCore, cancel_of_a_send_that_has_left_needs_an_answer) {
  for (std::size_t bytes : {0u, 10u, 500u})
    for (auto mode : {SendMode::standard, SendMode::synchronous})
      for (bool matched : {false, true}) {
        World world = two();
        Send send(world, 0, 1, 3, random_bytes(bytes, 1), 1, mode);
        world.settle();
        std::unique_ptr<Recv> recv;
        if (matched) recv = std::make_unique<Recv>(world, 1, 0, 3, bytes);  // its answer is not out yet
        world.core(0).cancel(send);
        EXPECT_FALSE(send.done);
        world.settle();
        EXPECT_TRUE(send.done);
        EXPECT_EQ(send.cancelled, !matched);
        p2p::Found found;
        EXPECT_FALSE(world.core(1).probe(1, kAnySource, kAnyTag, found));
        if (matched) {
          EXPECT_TRUE(recv->done);
          EXPECT_EQ(recv->buffer, send.bytes);
        }
        EXPECT_EQ(world.core(0).sends_under_way(), 0u);
        EXPECT_EQ(world.core(0).counters().bad_packets + world.core(1).counters().bad_packets, 0u);
      }
}

TEST(P2pCore, a_taken_message_cannot_be_cancelled) {
  World world = two();
  Send send(world, 0, 1, 3, random_bytes(500, 1));
  world.settle();
  p2p::Found found;
  ASSERT_TRUE(world.core(1).matcher().take(1, 0, 3, found));
  world.core(0).cancel(send);
  world.settle();
  EXPECT_FALSE(send.done);
  Recv recv(0, 3, 500);
  world.core(1).start_matched(recv, found.message);
  world.settle();
  EXPECT_TRUE(send.done && recv.done);
  EXPECT_FALSE(send.cancelled);
}

TEST(P2pCore, forgotten_contexts_drop_and_do_not_hold_senders_up) {
  World world = two();
  Send early(world, 0, 1, 3, random_bytes(500, 1), 77);
  world.settle();
  world.core(1).forget_context(77);
  Send late(world, 0, 1, 3, random_bytes(500, 1), 77, SendMode::synchronous);
  world.settle();
  EXPECT_TRUE(early.done && late.done);
  p2p::Found found;
  EXPECT_FALSE(world.core(1).probe(77, kAnySource, kAnyTag, found));
  EXPECT_EQ(world.core(1).counters().late, 2u);
  // Used again, it is a context like others; and many forgotten ones do not add up.
  Recv recv(world, 1, 0, 3, 1, 77);
  Send again(world, 0, 1, 3, {5}, 77);
  world.settle();
  EXPECT_EQ(recv.buffer[0], 5);
  for (std::uint64_t id = 1000; id < 6000; ++id) world.core(1).forget_context(id);
}

TEST(P2pCore, a_peer_that_is_gone_ends_what_waits_for_it) {
  World world(3, kPush, kSmallPacket);
  Send queued(world, 0, 1, 1, random_bytes(10, 1));
  Send other(world, 0, 2, 1, random_bytes(500, 1));
  Send waiting(world, 1, 0, 2, random_bytes(500, 2));
  world.transmit(1, 0);
  world.deliver(1, 0);
  Recv pulling(world, 0, 1, 2, 500);
  EXPECT_FALSE(pulling.done);
  world.core(0).on_peer_gone(1);
  EXPECT_TRUE(queued.done && pulling.done);
  EXPECT_EQ(queued.status, Status::peer_lost);
  EXPECT_EQ(pulling.status, Status::peer_lost);
  EXPECT_FALSE(other.done);
  Send late(world, 0, 1, 1, random_bytes(10, 1));
  EXPECT_TRUE(late.done);
  EXPECT_EQ(late.status, Status::peer_lost);
  EXPECT_FALSE(world.core(0).wants_to_send(1));
  // By the peer's own word too.
  const wire::GoodbyePacket goodbye{wire::p2p_prefix(wire::P2pKind::goodbye)};
  EXPECT_EQ(world.core(0).on_packet(2, std::as_bytes(std::span(&goodbye, 1))), Status::ok);
  EXPECT_TRUE(other.done);
}

TEST(P2pCore, on_done_may_start_again_and_does_not_recurse) {
  World world = two();
  struct Chain : p2p::SendOp {
    World* world;
    int left = 100000;
  } chain;
  chain.world = &world;
  chain.to = 1;
  chain.context = 1;
  chain.on_done = [](p2p::Op& op) {
    auto& self = static_cast<Chain&>(op);
    if (--self.left > 0) self.world->core(0).start(self);
  };
  world.core(0).start(chain);
  while (world.transmit(0, 1) != nullptr) world.link(0, 1).clear();
  EXPECT_EQ(chain.left, 0);
  EXPECT_TRUE(chain.done);
}

// Offsets have 64 bits everywhere. Sanitizers take a minute over the copying and see nothing that is not in
// the others.
TEST(P2pCore, messages_over_4_gib_by_types_that_repeat_a_block) {
  if (kSanitized) GTEST_SKIP() << "too slow here";
  constexpr std::int64_t kBlock = 1 << 20;
  constexpr std::int64_t kBlocks = 4100;  // 4 GiB and 4 MiB
  World world(2, 4096, (1 << 20) + 64);
  type::LayoutRef block, repeated;
  ASSERT_EQ(type::contiguous(kBlock, type::basic_layout(type::Basic::byte), block), Status::ok);
  ASSERT_EQ(type::resized(*block, 0, 0, repeated), Status::ok);  // every item at the same place
  Bytes from = random_bytes(kBlock, 4), to(kBlock);
  p2p::SendOp send;
  send.to = 1;
  send.data = type::Cursor(*repeated, from.data(), kBlocks);
  p2p::RecvOp recv;
  recv.source = 0;
  recv.data = type::Cursor(*repeated, to.data(), kBlocks);
  world.core(1).start(recv);
  world.core(0).start(send);
  while (world.transmit(0, 1) != nullptr || world.transmit(1, 0) != nullptr) {
    world.deliver(0, 1);
    world.deliver(1, 0);
  }
  EXPECT_TRUE(send.done && recv.done);
  EXPECT_EQ(recv.bytes, static_cast<std::uint64_t>(kBlock * kBlocks));
  EXPECT_EQ(from, to);
}
