// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong with messages that go from memory to memory: bytes are moved twice or not at all where
// the two shares meet; the sender is told too early that its buffer is free, or never; a sender that stays
// away holds the message up; a split copy is used again while somebody may still look into it; a memory that
// cannot be reached loses the message; packets that lie are followed.
#include <gtest/gtest.h>

#include "tests/unit/p2p/world.hpp"
#include "type/build.hpp"

using namespace herald;
using namespace herald::test;

namespace {

World near(std::uint64_t direct_bytes = 1000, p2p::PushMode mode = p2p::PushMode::pull) {
  return World(p2p::CoreConfig{.peers = 3, .push_bytes = 100, .mode = mode, .direct_bytes = direct_bytes},
               false, 2000);
}

template <class Packet>
void give(p2p::Core& core, int from, const Packet& packet) {
  EXPECT_EQ(core.on_packet(from, std::as_bytes(std::span(&packet, 1))), Status::ok);
}

}  // namespace

TEST(P2pDirect, early_and_late_receivers_get_every_byte) {
  for (const bool late : {false, true}) {
    World world = near();
    world.open_direct();
    Recv recv(0, 5, kLong);
    if (!late) world.core(1).start(recv);
    Send send(world, 0, 1, 5, random_bytes(kLong, 7));
    while (world.transmit(0, 1) != nullptr) world.deliver(0, 1);
    if (late) world.core(1).start(recv);
    EXPECT_FALSE(send.done);
    while (world.transmit(1, 0) != nullptr) world.deliver(1, 0);  // both are there
    world.settle();
    EXPECT_TRUE(send.done && recv.done);
    EXPECT_EQ(recv.bytes, kLong);
    EXPECT_EQ(recv.buffer, send.bytes);
    EXPECT_EQ(world.copier.read_bytes + world.copier.written_bytes, kLong) << "each byte once";
    EXPECT_GT(world.copier.written_bytes, kLong / 4) << "the sender helps";
    EXPECT_GT(world.copier.notified, 0u) << "the receiver may sleep and wait for that";
    EXPECT_EQ(world.core(0).counters().bad_packets + world.core(1).counters().bad_packets, 0u);
  }
}

TEST(P2pDirect, a_sender_outside_the_library_does_not_delay_its_receiver) {
  World world = near();
  world.open_direct();
  Recv recv(world, 1, 0, 5, kLong);
  Send send(world, 0, 1, 5, random_bytes(kLong, 7));
  world.transmit(0, 1);
  world.deliver(0, 1);
  while (world.move(1)) {
  }
  EXPECT_TRUE(recv.done);
  EXPECT_EQ(recv.buffer, send.bytes);
  EXPECT_FALSE(send.done) << "it has not heard of it yet";
  world.settle();
  EXPECT_TRUE(send.done);
}

TEST(P2pDirect, each_side_takes_its_half_and_then_helps) {
  using p2p::SplitCopy, p2p::kShareUnit;
  SplitCopy even{};
  EXPECT_EQ(even.begin(16 * kShareUnit, true).bytes(), 8 * kShareUnit);
  const p2p::Share back = even.claim(16 * kShareUnit, false);
  EXPECT_EQ(back.begin, 8 * kShareUnit);
  EXPECT_EQ(back.end, 16 * kShareUnit);
  EXPECT_TRUE(even.is_all_taken(16 * kShareUnit));
  EXPECT_TRUE(even.claim(16 * kShareUnit, true).empty());

  SplitCopy alone{};  // the sender does not come
  const std::uint64_t odd = 15 * kShareUnit + 1;
  EXPECT_TRUE(alone.begin(odd, false).empty());
  EXPECT_EQ(alone.claim(odd, true).end, 8 * kShareUnit);
  EXPECT_EQ(alone.claim(odd, true).end, odd);
  EXPECT_TRUE(alone.claim(odd, false).empty());

  SplitCopy slow{};  // the sender comes and is slow: it is left something
  const std::uint64_t much = 10 * p2p::kMaxShare * kShareUnit;
  std::uint64_t front = slow.begin(much, true).bytes();
  EXPECT_FALSE(slow.claim(much, false).empty());
  for (p2p::Share next = slow.claim(much, true); !next.empty(); next = slow.claim(much, true)) {
    EXPECT_EQ(next.begin, front);
    EXPECT_LE(next.bytes(), p2p::kMaxShare * kShareUnit);
    front = next.end;
  }
  EXPECT_EQ(front, much - p2p::kMaxShare * kShareUnit);
}

TEST(P2pDirect, a_split_copy_is_free_again_only_when_the_sender_has_released_it) {
  World world = near();
  world.open_direct();
  std::vector<std::unique_ptr<Send>> sends;
  std::vector<std::unique_ptr<Recv>> recvs;
  for (std::uint32_t i = 0; i < p2p::kSplitCopies + 3; ++i) {  // more than there are: the rest without help
    sends.push_back(std::make_unique<Send>(world, 0, 1, static_cast<int>(i), random_bytes(9000, i)));
    world.transmit(0, 1);
    world.deliver(0, 1);
    recvs.push_back(std::make_unique<Recv>(world, 1, 0, static_cast<int>(i), 9000));
    while (world.move(1)) {
    }
    EXPECT_TRUE(recvs.back()->done);
  }
  std::vector<std::uint32_t> met;
  while (const Bytes* packet = world.transmit(1, 0)) {
    const auto view = std::as_bytes(std::span(*packet));
    wire::P2pKind kind{};
    ASSERT_TRUE(wire::decode(view, kind));
    if (kind == wire::P2pKind::split_copy) met.push_back(wire::as<wire::SplitCopyPacket>(view).split_copy);
  }
  EXPECT_EQ(met.size(), p2p::kSplitCopies);
  std::sort(met.begin(), met.end());
  EXPECT_EQ(std::unique(met.begin(), met.end()), met.end()) << "one was used twice";
  world.settle();
  for (std::size_t i = 0; i < sends.size(); ++i) {
    EXPECT_TRUE(sends[i]->done);
    EXPECT_EQ(recvs[i]->buffer, sends[i]->bytes);
  }
  Send after(world, 0, 1, 0, random_bytes(9000, 1));
  Recv last(world, 1, 0, 0, 9000);
  world.settle();
  EXPECT_TRUE(after.done && last.done);
}

TEST(P2pDirect, a_split_copy_is_not_used_again_before_its_receiver_released_it) {
  World world = near();
  world.open_direct();
  Recv first(world, 1, 0, 1, kLong), second(world, 1, 0, 2, kLong);
  Send one(world, 0, 1, 1, random_bytes(kLong, 1));
  while (world.transmit(0, 1) != nullptr || world.deliver(0, 1) || world.transmit(1, 0) != nullptr ||
         world.deliver(1, 0)) {
  }
  world.move(1);  // some of it
  while (world.move(0)) {
  }  // and the sender all that is left
  while (world.transmit(0, 1) != nullptr || world.deliver(0, 1)) {
  }
  EXPECT_FALSE(first.done);
  Send two(world, 0, 1, 2, random_bytes(kLong, 2));
  world.transmit(0, 1);
  world.deliver(0, 1);
  world.settle();
  EXPECT_TRUE(first.done && second.done && one.done && two.done);
  EXPECT_EQ(first.buffer, one.bytes);
  EXPECT_EQ(second.buffer, two.bytes);
}

TEST(P2pDirect, inaccessible_bytes_are_pulled) {
  for (std::uint64_t seed = 1; seed < 40; ++seed) {
    World world = near();
    world.open_direct();
    world.copier.chance = Prng(seed);
    world.copier.fails_one_in = 1 + seed % 4;
    Recv recv(world, 1, 0, 5, kLong);
    Send send(world, 0, 1, 5, random_bytes(kLong, seed));
    world.settle();
    ASSERT_TRUE(send.done && recv.done) << seed;
    EXPECT_EQ(recv.status, Status::ok);
    EXPECT_EQ(recv.bytes, kLong);
    EXPECT_EQ(recv.buffer, send.bytes) << seed;
    EXPECT_EQ(world.core(0).counters().bad_packets + world.core(1).counters().bad_packets, 0u) << seed;
  }
}

TEST(P2pDirect, a_short_receive_buffer_is_filled_and_truncates) {
  for (const std::size_t room : {std::size_t{0}, std::size_t{10}, std::size_t{5000}}) {
    World world = near();
    world.open_direct();
    Recv recv(world, 1, 0, 5, room);
    Send send(world, 0, 1, 5, random_bytes(20000, 3));
    world.settle();
    EXPECT_TRUE(send.done && recv.done);
    EXPECT_EQ(recv.status, Status::truncated);
    EXPECT_EQ(recv.bytes, room);
    EXPECT_TRUE(std::equal(recv.buffer.begin(), recv.buffer.end(), send.bytes.begin()));
  }
}

TEST(P2pDirect, push_all_and_short_messages_stay_as_they_are) {
  World all = near(1000, p2p::PushMode::all);
  all.open_direct();
  Recv first(all, 1, 0, 5, 20000);
  Send long_one(all, 0, 1, 5, random_bytes(20000, 3));
  all.settle();
  EXPECT_TRUE(first.done);
  EXPECT_EQ(all.copier.read_bytes, 0u);
  World pull = near(1000);
  pull.open_direct();
  Recv second(pull, 1, 0, 5, 999);
  Send short_one(pull, 0, 1, 5, random_bytes(999, 3));
  pull.settle();
  EXPECT_TRUE(second.done);
  EXPECT_EQ(pull.copier.read_bytes, 0u);
}

TEST(P2pDirect, a_lost_peer_ends_only_its_own_messages) {
  World world = near();
  world.open_direct();
  Recv lost(world, 1, 0, 5, kLong), good(world, 1, 2, 5, kLong);
  Send doomed(world, 0, 1, 5, random_bytes(kLong, 7)), send(world, 2, 1, 5, random_bytes(kLong, 8));
  for (int from : {0, 2}) {
    world.transmit(from, 1);
    world.deliver(from, 1);
  }
  world.move(1);
  world.core(1).on_peer_gone(0);
  world.core(1).run_finished();
  EXPECT_TRUE(lost.done);
  EXPECT_EQ(lost.status, Status::peer_lost);
  world.core(0).on_peer_gone(1);
  EXPECT_EQ(doomed.status, Status::peer_lost);
  while (world.transmit(1, 2) != nullptr || world.transmit(2, 1) != nullptr || world.deliver(1, 2) ||
         world.deliver(2, 1) || world.move(1) || world.move(2)) {
  }
  EXPECT_TRUE(good.done && send.done);
  EXPECT_EQ(good.buffer, send.bytes);
}

TEST(P2pDirect, malformed_packets_are_counted_and_dropped) {
  World world = near();
  world.open_direct();
  p2p::Core& core = world.core(0);
  Send send(world, 0, 1, 5, random_bytes(kLong, 7));
  world.transmit(0, 1);
  using namespace wire;
  give(core, 1,
       SplitCopyPacket{p2p_prefix(P2pKind::split_copy), send.id, send.seq, p2p::kSplitCopies, kLong, 0});
  give(core, 1, SplitCopyPacket{p2p_prefix(P2pKind::split_copy), send.id, send.seq, 0, kLong + 1, 0});
  give(core, 2, SplitCopyPacket{p2p_prefix(P2pKind::split_copy), send.id, send.seq, 0, kLong, 0});
  give(core, 1, SplitCopyPacket{p2p_prefix(P2pKind::split_copy), send.id + 1, send.seq, 0, kLong, 0});
  give(core, 1, SplitCopyDonePacket{p2p_prefix(P2pKind::split_copy_done), 3});
  EXPECT_EQ(core.counters().bad_packets, 5u);
  EXPECT_FALSE(core.direct().busy());
  Recv recv(world, 1, 0, 5, kLong);
  world.settle();
  EXPECT_TRUE(recv.done && send.done);
}

TEST(P2pDirect, runs_of_both_sides_may_be_cut_differently) {
  World world = near();
  world.open_direct();
  Bytes from = random_bytes(300'000, 1), to(300'000);
  type::LayoutRef rows;
  ASSERT_EQ(type::vector(60, 4000, 5000, type::basic_layout(type::Basic::byte), rows), Status::ok);
  p2p::SendOp send;
  send.to = 1;
  send.context = 1;
  send.data = type::Cursor(*rows, from.data(), 1);
  Recv recv(0, p2p::kAnyTag, 240'000);
  recv.source = 0;
  recv.tag = 0;
  world.core(1).start(recv);
  world.core(0).start(send);
  world.settle();
  ASSERT_TRUE(send.done && recv.done);
  EXPECT_GT(world.copier.read_bytes + world.copier.written_bytes, 0u);
  for (std::size_t row = 0; row < 60; ++row)
    EXPECT_EQ(std::memcmp(recv.buffer.data() + row * 4000, from.data() + row * 5000, 4000), 0) << row;
}

// Where many go both ways, or many small ones go one way, a system call for each half is one too many.
TEST(P2pDirect, many_at_once_are_copied_whole_by_their_receivers) {
  constexpr int kMessages = 12;
  for (const bool both_ways : {true, false}) {
    World world = near();
    world.open_direct();
    const std::size_t bytes = both_ways ? 200'000 : 20'000;
    std::deque<Recv> recvs;
    std::deque<Send> sends;
    for (int way = 0; way < (both_ways ? 2 : 1); ++way) {
      for (int i = 0; i < kMessages; ++i) recvs.emplace_back(world, 1 - way, way, 5, bytes);
      for (int i = 0; i < kMessages; ++i)
        sends.emplace_back(world, way, 1 - way, 5, random_bytes(bytes, static_cast<std::uint64_t>(i + 1)));
    }
    world.settle();
    for (std::size_t i = 0; i < sends.size(); ++i) {
      ASSERT_TRUE(sends[i].done && recvs[i].done) << i;
      EXPECT_EQ(recvs[i].buffer, sends[i].bytes) << i;
    }
    EXPECT_EQ(world.copier.read_bytes + world.copier.written_bytes, sends.size() * bytes) << "each byte once";
    EXPECT_LE(world.copier.calls, sends.size() + sends.size() / 2) << "two calls for the first and the last";
  }
}

// Where ranks outnumber processors one side runs while the other does not: waiting for its half costs a turn
// of all others.
TEST(P2pDirect, oversubscribed_hosts_copy_all_in_one_call) {
  constexpr std::size_t kBytes = 200'000;
  for (const bool late : {false, true}) {
    for (const bool at_once : {false, true}) {
      World world = near();
      world.open_direct();
      for (int rank = 0; rank < 2; ++rank) world.core(rank).direct().set_oversubscribed(true);
      Recv recv(0, 5, kBytes);
      recv.at_once = at_once;
      recv.awaited = 0;
      if (!late) world.core(1).start(recv);
      Send send(world, 0, 1, 5, random_bytes(kBytes, 7));
      while (world.transmit(0, 1) != nullptr) world.deliver(0, 1);
      if (late) world.core(1).start(recv);
      world.settle();
      EXPECT_TRUE(send.done && recv.done);
      EXPECT_EQ(recv.buffer, send.bytes);
      EXPECT_EQ(world.copier.calls, 1u) << "late " << late << ", at once " << at_once;
      EXPECT_EQ(late ? world.copier.read_bytes : world.copier.written_bytes, kBytes);
    }
  }
}
