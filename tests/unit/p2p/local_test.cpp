// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong inside a host when a receiver is late: it keeps more than its allowance; messages
// without bytes are not counted; those that were held back stop for ever, come out of order or short; the
// sender is paused for good; a process is paused by itself.
#include <gtest/gtest.h>

#include "tests/unit/p2p/world.hpp"

using namespace herald;
using namespace herald::test;

namespace {

constexpr std::size_t kLocalPacket = 300, kMessage = 200;
constexpr std::uint32_t kAllowance = 4000;
constexpr std::uint64_t kMost =
    kAllowance / sizeof(p2p::Message) + 1;  // messages, all of whose bytes are kept

World local(p2p::PushMode mode = p2p::PushMode::pull) {
  return World(p2p::CoreConfig{.peers = 2, .push_bytes = 256, .mode = mode, .local_allowance = kAllowance},
               false, kLocalPacket);
}

using Sends = std::vector<std::unique_ptr<Send>>;

// As a sender does that looks at what comes back after each message.
Sends flood(World& world, int from, int to, int count, std::size_t bytes) {
  Sends sends;
  for (int i = 0; i < count; ++i) {
    sends.push_back(
        std::make_unique<Send>(world, from, to, i, random_bytes(bytes, static_cast<std::uint64_t>(i))));
    world.settle();
  }
  return sends;
}

std::uint64_t ended(const Sends& sends) {
  return static_cast<std::uint64_t>(
      std::count_if(sends.begin(), sends.end(), [](const auto& each) { return each->done; }));
}

}  // namespace

TEST(P2pLocal, a_late_receiver_keeps_no_more_than_its_allowance_and_all_comes_in_the_end) {
  for (const std::size_t bytes : {std::size_t{0}, std::size_t{8}, kMessage}) {
    World world = local();
    world.sends_now = true;
    const Sends sends = flood(world, 0, 1, 50, bytes);
    EXPECT_LE(ended(sends), kMost);
    for (int i = 49; i >= 0; --i) {  // the last first: those before must not stand in its way
      Recv recv(world, 1, 0, i, bytes);
      world.settle();
      EXPECT_TRUE(recv.done);
      EXPECT_EQ(recv.buffer, sends[static_cast<std::size_t>(i)]->bytes);
    }
    EXPECT_EQ(ended(sends), 50u);
    EXPECT_EQ(world.core(1).messages_held(), 0u);
    const Send again(world, 0, 1, 99, random_bytes(bytes, 7));  // it may push again
    world.settle();
    EXPECT_TRUE(again.done);
    EXPECT_EQ(world.core(0).counters().bad_packets + world.core(1).counters().bad_packets, 0u);
  }
}

TEST(P2pLocal, the_bound_grows_while_there_is_memory_and_holds_afterwards) {
  constexpr std::uint64_t kMemory = 4 * kAllowance;
  World world(
      p2p::CoreConfig{
          .peers = 2, .push_bytes = 256, .local_allowance = kAllowance, .most_unexpected = kMemory},
      false, kLocalPacket);
  const Sends sends = flood(world, 0, 1, 400, 8);
  EXPECT_GT(ended(sends), 2 * kMost);
  EXPECT_LE(ended(sends), kMemory / sizeof(p2p::Message) + 1);
  for (int i = 399; i >= 0; --i) {
    Recv recv(world, 1, 0, i, 8);
    world.settle();
    EXPECT_EQ(recv.buffer, sends[static_cast<std::size_t>(i)]->bytes);
  }
  EXPECT_EQ(ended(sends), 400u);
}

TEST(P2pLocal, the_sender_may_push_again_when_half_is_received) {
  World world = local();
  const Sends sends = flood(world, 0, 1, 50, kMessage);
  const auto kept = static_cast<int>(ended(sends));
  int received = 0;
  for (bool pushed = false; !pushed; ++received) {
    ASSERT_LT(received, 50);
    Recv recv(world, 1, 0, received, kMessage);
    world.settle();
    EXPECT_EQ(recv.buffer, sends[static_cast<std::size_t>(received)]->bytes);
    const Send more(world, 0, 1, 99, random_bytes(kMessage, 7));
    world.settle();
    pushed = more.done;
    Recv other(world, 1, 0, 99, kMessage);
    world.settle();
  }
  EXPECT_GT(received, kept / 3);
}

TEST(P2pLocal, other_peers_are_not_paused_nor_a_process_by_itself) {
  World world(p2p::CoreConfig{.peers = 3, .push_bytes = 256, .local_allowance = kAllowance}, false,
              kLocalPacket);
  const Sends sends = flood(world, 0, 1, 50, kMessage);
  EXPECT_LE(ended(sends), kMost);
  EXPECT_EQ(ended(flood(world, 2, 1, 1, kMessage)), 1u);
  EXPECT_EQ(ended(flood(world, 1, 1, 50, kMessage)), 50u);
  for (int i = 0; i < 50; ++i) world.core(0).cancel(*sends[static_cast<std::size_t>(i)]);
  world.settle();
  EXPECT_EQ(ended(sends), 50u);
}

TEST(P2pLocal, push_all_pushes_all_the_same) {
  World world = local(p2p::PushMode::all);
  EXPECT_EQ(ended(flood(world, 0, 1, 50, kMessage)), 50u);
}
