// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong between hosts: the push stops after one packet, or goes on beyond what it may; a late
// receiver costs more memory than the allowance; when the allowance is used up messages stop for ever, or
// small ones are lost; push-zero pushes, push-all pulls.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/p2p/world.hpp"

using namespace herald;
using namespace herald::test;

namespace {

World remote(p2p::PushMode mode = p2p::PushMode::pull, std::uint32_t allowance = 10000) {
  return World(
      p2p::CoreConfig{
          .peers = 2, .mode = mode, .remote_first = 100, .remote_more = 1000, .remote_allowance = allowance},
      true, kPacket);
}

// Everything that 0 sends before 1 answers: bytes of payload, without the headers of packets.
std::size_t pushed_bytes(World& world) {
  std::size_t bytes = 0;
  while (const Bytes* packet = world.transmit(0, 1)) {
    const auto view = std::as_bytes(std::span(*packet));
    wire::P2pKind kind{};
    EXPECT_TRUE(wire::decode(view, kind));
    bytes += packet->size() - (kind == wire::P2pKind::eager           ? sizeof(wire::EagerPacket)
                               : kind == wire::P2pKind::eager_compact ? sizeof(wire::CompactPacket)
                                                                      : sizeof(wire::DataPacket));
  }
  return bytes;
}

}  // namespace

TEST(P2pRemote, the_push_goes_on_beyond_its_first_packet) {
  World world = remote();
  Send send(world, 0, 1, 3, random_bytes(5000, 1));
  EXPECT_EQ(pushed_bytes(world), 1100u);
  EXPECT_FALSE(send.done);
  Recv recv(world, 1, 0, 3, 5000);
  world.settle();
  EXPECT_TRUE(send.done && recv.done);
  EXPECT_EQ(recv.buffer, send.bytes);
}

TEST(P2pRemote, the_first_message_of_a_pair_has_the_full_header) {
  World world = remote();
  Send send(world, 0, 1, 3, random_bytes(100, 1));
  const Bytes* const packet = world.transmit(0, 1);
  ASSERT_NE(packet, nullptr);
  EXPECT_EQ(packet->size(), sizeof(wire::EagerPacket) + 100);
  EXPECT_TRUE(send.done);
  world.settle();
  EXPECT_EQ(world.core(1).messages_held(), 1u);
  Recv recv(world, 1, 0, 3, 100);
  EXPECT_TRUE(recv.done);
  EXPECT_EQ(recv.buffer, send.bytes);
}

TEST(P2pRemote, a_message_that_fits_into_the_push_awaits_no_answer) {
  World world = remote();
  Send send(world, 0, 1, 3, random_bytes(1100, 1));
  EXPECT_EQ(pushed_bytes(world), 1100u);
  EXPECT_TRUE(send.done);
  world.settle();
  EXPECT_EQ(world.core(1).messages_held(), 1u);
  Recv recv(world, 1, 0, 3, 2000);
  EXPECT_TRUE(recv.done);
  EXPECT_EQ(recv.bytes, 1100u);
  EXPECT_EQ(world.core(1).messages_held(), 0u);
}

TEST(P2pRemote, the_pull_leaves_while_the_push_still_comes) {
  World world = remote();
  Recv recv(world, 1, 0, 3, 5000);
  Send send(world, 0, 1, 3, random_bytes(5000, 1));
  world.transmit(0, 1);
  world.deliver(0, 1);
  EXPECT_TRUE(world.core(1).wants_to_send(0));
  world.settle();
  EXPECT_TRUE(send.done && recv.done);
  EXPECT_EQ(recv.buffer, send.bytes);
}

TEST(P2pRemote, a_receive_that_is_too_small_takes_its_part_of_the_push) {
  for (const std::size_t room :
       {std::size_t{0}, std::size_t{50}, std::size_t{500}, std::size_t{1100}, std::size_t{3000}})
    for (const bool early : {true, false}) {
      World world = remote();
      Recv recv(0, 3, room);
      if (early) world.core(1).start(recv);
      Send send(world, 0, 1, 3, random_bytes(5000, 1));
      world.transmit(0, 1);
      world.deliver(0, 1);
      if (!early) world.core(1).start(recv);
      world.settle();
      EXPECT_TRUE(send.done && recv.done);
      EXPECT_EQ(recv.status, Status::truncated);
      EXPECT_EQ(recv.bytes, room);
      EXPECT_TRUE(std::equal(recv.buffer.begin(), recv.buffer.end(), send.bytes.begin()));
      EXPECT_EQ(world.core(1).messages_held(), 0u);
      EXPECT_EQ(world.core(1).counters().bad_packets, 0u);
    }
}

TEST(P2pRemote, nothing_is_pushed_beyond_the_allowance_and_all_comes_in_the_end) {
  World world = remote(p2p::PushMode::pull, 4000);
  std::vector<std::unique_ptr<Send>> sends;
  for (int i = 0; i < 50; ++i)
    sends.push_back(std::make_unique<Send>(world, 0, 1, i, random_bytes(600, static_cast<std::uint64_t>(i))));
  EXPECT_LE(pushed_bytes(world), 4000u);
  world.settle();
  for (int i = 49; i >= 0; --i) {  // the last first: those before must not stand in its way
    Recv recv(world, 1, 0, i, 600);
    world.settle();
    EXPECT_TRUE(recv.done);
    EXPECT_EQ(recv.buffer, sends[static_cast<std::size_t>(i)]->bytes);
  }
  Send again(world, 0, 1, 99, random_bytes(1000, 7));  // the allowance has come back
  EXPECT_EQ(pushed_bytes(world), 1000u);
  EXPECT_TRUE(again.done);
}

TEST(P2pRemote, messages_without_bytes_count_too) {
  World world = remote(p2p::PushMode::pull, 4000);
  std::vector<std::unique_ptr<Send>> sends;
  for (int i = 0; i < 200; ++i) sends.push_back(std::make_unique<Send>(world, 0, 1, i, Bytes{}));
  world.settle();
  const auto ended = std::count_if(sends.begin(), sends.end(), [](const auto& each) { return each->done; });
  EXPECT_LE(ended, 4000 / 64);
  for (int i = 199; i >= 0; --i) {
    Recv recv(world, 1, 0, i, 0);
    world.settle();
    EXPECT_TRUE(recv.done && sends[static_cast<std::size_t>(i)]->done);
  }
  const Send again(world, 0, 1, 99, Bytes{});
  world.settle();
  EXPECT_TRUE(again.done);
}

// Where push-all is the best there is, push-pull must be as good: up to what is pushed they are the
// same, packet by packet.
TEST(P2pRemote, push_pull_equals_push_all_up_to_what_is_pushed) {
  const p2p::CoreConfig usual;
  for (std::size_t bytes = 1; bytes <= usual.remote_more; bytes *= 4) {
    std::vector<Bytes> packets[2];
    for (const p2p::PushMode mode : {p2p::PushMode::pull, p2p::PushMode::all}) {
      World world(p2p::CoreConfig{.peers = 2, .mode = mode}, true, 1472);
      Send send(world, 0, 1, 3, random_bytes(bytes, 1));
      while (const Bytes* packet = world.transmit(0, 1))
        packets[mode == p2p::PushMode::all].push_back(*packet);
      EXPECT_TRUE(send.done);
    }
    EXPECT_EQ(packets[0], packets[1]) << bytes << " bytes";
  }
}

TEST(P2pRemote, push_zero_pushes_nothing_and_push_all_everything) {
  World zero = remote(p2p::PushMode::zero);
  Send asked(zero, 0, 1, 3, random_bytes(50, 1));
  EXPECT_EQ(pushed_bytes(zero), 0u);
  EXPECT_FALSE(asked.done);
  Recv one(zero, 1, 0, 3, 50);
  zero.settle();
  EXPECT_TRUE(asked.done && one.done && one.buffer == asked.bytes);

  World all = remote(p2p::PushMode::all);
  Send pushed(all, 0, 1, 3, random_bytes(50000, 1));
  EXPECT_EQ(pushed_bytes(all), 50000u);
  EXPECT_TRUE(pushed.done);
  all.settle();
  Recv two(all, 1, 0, 3, 50000);
  EXPECT_TRUE(two.done && two.buffer == pushed.bytes);
}

TEST(P2pRemote, receives_that_wait_for_a_dead_peer_and_no_other_fail) {
  for (const int receives : {1, 100}) {  // a short queue and one spread over bins
    World world(p2p::CoreConfig{.peers = 3}, true, kPacket);
    std::vector<std::unique_ptr<Recv>> ops;
    for (int i = 0; i < receives; ++i) {
      ops.push_back(std::make_unique<Recv>(0, i, 10));
      ops.back()->awaited = 0;
      world.core(1).start(*ops.back());
    }
    Recv other(2, 1, 10), any(p2p::kAnySource, 1, 10);
    other.awaited = 2;
    world.core(1).start(other);
    world.core(1).start(any);
    world.core(1).on_peer_gone(0);
    for (auto& op : ops) EXPECT_TRUE(op->done && op->status == Status::peer_lost);
    EXPECT_FALSE(other.done || any.done);
    Recv late(0, 1, 10);
    late.awaited = 0;
    world.core(1).start(late);
    EXPECT_TRUE(late.done && late.status == Status::peer_lost);
    Send send(world, 2, 1, 1, random_bytes(10, 1));
    world.settle();
    EXPECT_TRUE(other.done && other.buffer == send.bytes);
    world.core(1).cancel(any);
  }
}

TEST(P2pRemote, a_peer_that_dies_in_the_middle_of_its_push) {
  World world = remote();
  Send matched(world, 0, 1, 3, random_bytes(5000, 1));
  Send waiting(world, 0, 1, 4, random_bytes(900, 1));
  Recv recv(world, 1, 0, 3, 5000);
  for (int i = 0; i < 4; ++i) world.transmit(0, 1), world.deliver(0, 1);
  world.core(1).on_peer_gone(0);
  world.core(1).run_finished();
  EXPECT_TRUE(recv.done);
  EXPECT_EQ(recv.status, Status::peer_lost);
  Recv late(world, 1, 0, 4, 900);
  EXPECT_TRUE(late.done);
  EXPECT_EQ(late.status, Status::peer_lost);
  EXPECT_EQ(world.core(1).messages_held(), 0u);
  world.core(0).on_peer_gone(1);
  world.core(0).run_finished();
}

// What could go wrong: the two ends do not mean the same message before a compact header.
TEST(P2pRemote, further_messages_of_a_communicator_have_a_compact_header) {
  World world = remote();
  const auto head_of = [&](std::uint64_t context, int source, int tag) {
    const Bytes bytes = random_bytes(50, static_cast<std::uint64_t>(tag));
    p2p::SendOp send;
    send.data = type::Cursor::bytes(const_cast<unsigned char*>(bytes.data()), bytes.size());
    send.context = context;
    send.to = 1;
    send.source = source;
    send.tag = tag;
    world.start(0, send);
    const Bytes* const packet = world.transmit(0, 1);
    const std::size_t size = packet == nullptr ? 0 : packet->size() - bytes.size();
    world.settle();
    Bytes room(50);
    p2p::RecvOp receive;
    receive.data = type::Cursor::bytes(room.data(), room.size());
    receive.context = context;
    receive.source = source;
    receive.tag = tag;
    world.core(1).start(receive);
    world.settle();
    EXPECT_TRUE(receive.done) << tag;
    EXPECT_EQ(receive.from_source, source);
    EXPECT_EQ(room, bytes) << tag;
    return size;
  };
  constexpr std::size_t kFull = sizeof(wire::EagerPacket), kCompact = sizeof(wire::CompactPacket);
  EXPECT_EQ(head_of(1, 0, 3), kFull);
  EXPECT_EQ(head_of(1, 0, 4), kCompact);
  EXPECT_EQ(head_of(1, 0, -5), kCompact);
  EXPECT_EQ(head_of(2, 0, 6), kFull) << "another communicator";
  EXPECT_EQ(head_of(2, 0, 6), kCompact);
  EXPECT_EQ(head_of(2, 7, 6), kFull) << "another rank in it";
  EXPECT_EQ(head_of(1, 0, 3), kFull);
  {
    Send between(world, 0, 1, 3, random_bytes(5000, 1), 2);  // of another communicator, and pulled
    Recv recv(world, 1, 0, 3, 5000, 2);
    world.settle();
    EXPECT_TRUE(between.done && recv.done);
    EXPECT_EQ(recv.buffer, between.bytes);
  }
  EXPECT_EQ(head_of(2, 0, 9), kCompact) << "the long one was of this";
  EXPECT_EQ(head_of(1, 0, 9), kFull);
  EXPECT_EQ(world.core(1).counters().bad_packets, 0u);
}

TEST(P2pRemote, a_compact_header_without_a_message_before_it_is_dropped) {
  const Bytes again{wire::kP2pVersion, 2, 3, 0, 0, 0, 'a'};
  World world = remote();
  EXPECT_EQ(world.core(1).on_packet(0, std::as_bytes(std::span(again))), Status::ok);
  EXPECT_EQ(world.core(1).counters().bad_packets, 1u);
  EXPECT_EQ(world.core(1).messages_held(), 0u);
  World local(2, 100, kPacket);
  EXPECT_EQ(local.core(1).on_packet(0, std::as_bytes(std::span(again))), Status::ok);
  EXPECT_EQ(local.core(1).counters().bad_packets, 1u);
}

// What could go wrong: send_now() writes other bytes than poll_transmit(), counts other numbers or other
// allowances; or it is possible where a started send would do something else.
TEST(P2pRemote, send_now_writes_what_a_started_send_writes) {
  Prng chance(7);
  World world = remote(p2p::PushMode::pull, 3000), twin = remote(p2p::PushMode::pull, 3000);
  int shorts = 0, longs = 0;
  std::uint64_t short_bytes = 0;
  for (int i = 0; i < 400; ++i) {
    const Bytes bytes = random_bytes(chance.below(110), static_cast<std::uint64_t>(i));
    const p2p::ShortSend what{
        .context = 1, .data = bytes.data(), .bytes = bytes.size(), .to = 1, .tag = i, .source = 0};
    const bool at_once = world.core(0).sender().can_send_now(1, bytes.size(), kPacket);
    Send other(twin, 0, 1, i, bytes);
    const Bytes* const packet = twin.transmit(0, 1);
    ASSERT_NE(packet, nullptr);
    const std::size_t head = i == 0 ? sizeof(wire::EagerPacket) : sizeof(wire::CompactPacket);
    EXPECT_EQ(at_once, packet->size() == head + bytes.size()) << i;
    if (at_once && chance.below(4) != 0) {
      Bytes room(kPacket);
      room.resize(world.core(0).sender().send_now(what, std::as_writable_bytes(std::span(room)).data()));
      EXPECT_EQ(room, *packet) << i;
      world.link(0, 1).push_back(room);
      ++shorts;
      short_bytes += bytes.size();
    } else {
      const Send send(world, 0, 1, i, bytes);
      const Bytes* const same = world.transmit(0, 1);
      ASSERT_NE(same, nullptr);
      EXPECT_EQ(*same, *packet) << i;
      world.settle();
      ++longs;
      Recv recv(world, 1, 0, i, 110);
      world.settle();
    }
    twin.settle();
    Recv recv(twin, 1, 0, i, 110);
    twin.settle();
    world.settle();
    if (world.core(1).messages_held() != 0) {
      Recv late(world, 1, 0, i, 110);
      world.settle();
      EXPECT_EQ(late.bytes, bytes.size());
      EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), late.buffer.begin()));
    }
  }
  EXPECT_GT(shorts, 200);
  EXPECT_GT(longs, 50);
  // The caller of send_now() counts.
  EXPECT_EQ(world.core(0).counters().sent, static_cast<std::uint64_t>(longs));
  EXPECT_EQ(world.core(0).counters().sent_bytes + short_bytes, twin.core(0).counters().sent_bytes);
}

TEST(P2pRemote, send_now_is_refused_where_a_started_send_would_wait) {
  World world = remote(p2p::PushMode::pull, 1000);
  EXPECT_TRUE(world.core(0).sender().can_send_now(1, 100, kPacket));
  EXPECT_FALSE(world.core(0).sender().can_send_now(1, 101, kPacket));
  int sent = 0;
  const Bytes bytes = random_bytes(50, 1);
  for (; sent < 100 && world.core(0).sender().can_send_now(1, 50, kPacket); ++sent) {
    Bytes room(kPacket);
    room.resize(world.core(0).sender().send_now(
        {.context = 1, .data = bytes.data(), .bytes = 50, .to = 1, .tag = sent, .source = 0},
        std::as_writable_bytes(std::span(room)).data()));
    world.link(0, 1).push_back(room);
  }
  EXPECT_EQ(sent, 8);  // each counts for 50 and 64 of the allowance
  world.settle();
  Send held(world, 0, 1, 99, bytes);
  EXPECT_FALSE(world.core(0).sender().can_send_now(1, 0, kPacket)) << "it would overtake";
  world.settle();
  for (int i = 0; i < sent; ++i) {
    Recv recv(world, 1, 0, i, 50);
    EXPECT_EQ(recv.buffer, bytes);
  }
  world.settle();
  EXPECT_TRUE(world.core(0).sender().can_send_now(1, 50, kPacket));
  world.core(0).on_peer_gone(1);
  EXPECT_FALSE(world.core(0).sender().can_send_now(1, 50, kPacket));
  World zero = remote(p2p::PushMode::zero), all = remote(p2p::PushMode::all);
  EXPECT_FALSE(zero.core(0).sender().can_send_now(1, 8, kPacket));
  EXPECT_FALSE(all.core(0).sender().can_send_now(1, 8, kPacket));
}

TEST(P2pRemote, the_allowance_grows_while_there_is_memory_and_holds_afterwards) {
  const auto flood = [](std::uint64_t memory) {
    World world(p2p::CoreConfig{.peers = 2,
                                .remote_first = 100,
                                .remote_more = 1000,
                                .remote_allowance = 1000,
                                .most_unexpected = memory},
                true, kPacket);
    std::vector<std::unique_ptr<Send>> sends;
    for (int i = 0; i < 400; ++i) {
      sends.push_back(
          std::make_unique<Send>(world, 0, 1, i, random_bytes(40, static_cast<std::uint64_t>(i))));
      world.settle();
    }
    const auto ended = std::count_if(sends.begin(), sends.end(), [](const auto& each) { return each->done; });
    for (int i = 399; i >= 0; --i) {
      Recv recv(world, 1, 0, i, 40);
      world.settle();
      EXPECT_EQ(recv.buffer, sends[static_cast<std::size_t>(i)]->bytes);
    }
    EXPECT_EQ(world.core(0).counters().bad_packets + world.core(1).counters().bad_packets, 0u);
    return ended;
  };
  const auto fixed = flood(0), grown = flood(16000), all = flood(1 << 20);
  EXPECT_LT(fixed, 20);
  EXPECT_GT(grown, 2 * fixed);
  EXPECT_LT(grown, 400);
  EXPECT_EQ(all, 400);
}
