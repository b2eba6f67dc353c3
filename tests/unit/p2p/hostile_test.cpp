// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a packet with an id, offset or length that means nothing here is followed: memory
// outside a buffer is written, an operation of somebody else ends, the process falls over. All must be
// counted and dropped.
#include <gtest/gtest.h>

#include "tests/unit/p2p/world.hpp"

using namespace herald;
using namespace herald::test;
using namespace herald::wire;

namespace {

template <class Packet>
Bytes raw(const Packet& packet, std::size_t payload = 0) {
  Bytes out(sizeof packet + payload, 0xcc);
  std::memcpy(out.data(), &packet, sizeof packet);
  return out;
}

void give(p2p::Core& core, int from, const Bytes& packet) {
  ASSERT_EQ(core.on_packet(from, std::as_bytes(std::span(packet))), Status::ok);
  core.run_finished();
}

DataPacket data_packet(std::uint32_t id, std::uint64_t offset) {
  DataPacket packet;
  packet.prefix = p2p_prefix(P2pKind::data);
  packet.id = id;
  packet.offset = offset;
  return packet;
}

PullPacket pull_packet(const p2p::SendOp& op, std::uint64_t offset, std::uint64_t bytes) {
  PullPacket packet;
  packet.prefix = p2p_prefix(P2pKind::pull);
  packet.send_id = op.id;
  packet.seq = op.seq;
  packet.receive_id = 1;
  packet.offset = offset;
  packet.bytes = bytes;
  return packet;
}

// That the message was removed.
Bytes cancel_reply(std::uint32_t send_id, std::uint32_t seq) {
  const CancelReplyHeader header{send_id, seq, 1};
  Bytes out(200);
  out.resize(p2p::Services::write_packet(p2p::ServiceId::cancel_reply, std::as_bytes(std::span(&header, 1)),
                                         {}, std::as_writable_bytes(std::span(out))));
  return out;
}

}  // namespace

TEST(P2pHostile, data_that_no_pull_requested) {
  World world(3, 64, 200);
  Send send(world, 0, 1, 3, random_bytes(1000, 1));
  world.transmit(0, 1);
  world.deliver(0, 1);
  Recv recv(world, 1, 0, 3, 500);  // pulls 64..500
  p2p::Core& core = world.core(1);
  const Bytes before = recv.buffer;
  give(core, 0, raw(data_packet(recv.id ^ 1, 64), 10));           // no such receive
  give(core, 0, raw(data_packet(recv.id + (1u << 22), 64), 10));  // an older or younger one
  give(core, 2, raw(data_packet(recv.id, 64), 10));               // from somebody else
  give(core, 0, raw(data_packet(recv.id, 63), 10));               // not where we are
  give(core, 0, raw(data_packet(recv.id, 65), 10));
  give(core, 0, raw(data_packet(recv.id, 64), 437));  // one byte too many
  give(core, 0, raw(data_packet(recv.id, 64), 0));    // nothing
  give(core, 0, raw(data_packet(recv.id, ~std::uint64_t{0}), 10));
  give(core, 7, raw(data_packet(recv.id, 64), 10));  // no such peer
  give(core, -1, raw(data_packet(recv.id, 64), 10));
  EXPECT_EQ(core.counters().bad_packets, 10u);
  EXPECT_EQ(recv.buffer, before);
  EXPECT_FALSE(recv.done);
  world.settle();
  EXPECT_TRUE(recv.done && send.done);
  EXPECT_EQ(recv.buffer, Bytes(send.bytes.begin(), send.bytes.begin() + 500));
}

TEST(P2pHostile, pulls_acks_and_replies_that_do_not_fit) {
  World world(3, 64, 200);
  Send send(world, 0, 1, 3, random_bytes(1000, 1));
  world.transmit(0, 1);
  p2p::Core& core = world.core(0);
  give(core, 1, raw(pull_packet(send, 63, 10)));
  give(core, 1, raw(pull_packet(send, 64, 0)));
  give(core, 1, raw(pull_packet(send, 64, 937)));
  give(core, 1, raw(pull_packet(send, 64, ~std::uint64_t{0})));
  give(core, 2, raw(pull_packet(send, 64, 10)));
  PullPacket other = pull_packet(send, 64, 10);
  other.seq = send.seq + 1;
  give(core, 1, raw(other));
  give(core, 1, raw(AckPacket{p2p_prefix(P2pKind::ack), send.id + 1, send.seq}));
  give(core, 2, raw(AckPacket{p2p_prefix(P2pKind::ack), send.id, send.seq}));
  give(core, 1, raw(AckPacket{p2p_prefix(P2pKind::ack), 0, 0}));
  give(core, 1, cancel_reply(send.id + 1, send.seq));
  EXPECT_EQ(core.counters().bad_packets, 10u);
  EXPECT_FALSE(send.done);
  give(core, 1, raw(pull_packet(send, 64, 936)));
  give(core, 1, raw(pull_packet(send, 64, 936)));  // twice
  give(core, 1, cancel_reply(send.id, send.seq));
  EXPECT_EQ(core.counters().bad_packets, 12u);
  EXPECT_FALSE(send.done || send.cancelled);
}

TEST(P2pHostile, pushes_that_contradict_themselves) {
  World world(2, 64, 200);
  Recv recv(world, 1, p2p::kAnySource, p2p::kAnyTag, 100);
  EagerPacket push;
  push.prefix = p2p_prefix(P2pKind::eager);
  push.context = 1;
  push.message_bytes = 5;
  push.push_bytes = 6;
  give(world.core(1), 0, raw(push, 6));  // more than the message
  push.push_bytes = 4;
  give(world.core(1), 0, raw(push, 4));  // less, and no send to pull from
  push.push_bytes = 5;
  push.send_id = 9;
  give(world.core(1), 0, raw(push, 5));  // awaits an answer that no receiver owes
  push.send_id = 0;
  push.prefix = p2p_prefix(P2pKind::eager, kFlagSynchronous);
  give(world.core(1), 0, raw(push, 5));
  EXPECT_EQ(world.core(1).counters().bad_packets, 4u);
  EXPECT_FALSE(recv.done);
}

TEST(P2pHostile, more_of_a_push_than_was_announced) {
  World world(p2p::CoreConfig{.peers = 2, .remote_first = 8, .remote_more = 100}, true, 64);
  Send send(world, 0, 1, 3, random_bytes(60, 1));
  world.transmit(0, 1);
  world.deliver(0, 1);  // 8 bytes are there, 52 are to come
  p2p::Core& core = world.core(1);
  DataPacket more = data_packet(send.seq, 8);
  more.prefix = p2p_prefix(P2pKind::data, kFlagPushed);
  give(core, 0, raw(more, 53));  // one byte too many
  more.offset = 7;
  give(core, 0, raw(more, 10));
  more.offset = ~std::uint64_t{0};
  give(core, 0, raw(more, 10));
  EXPECT_EQ(core.counters().bad_packets, 3u);
  more.id = send.seq + 1;
  give(core, 0, raw(more, 10));  // belongs to a message that was dropped
  EXPECT_EQ(core.counters().bad_packets, 3u);
  Recv recv(world, 1, 0, 3, 100);
  EXPECT_FALSE(recv.done);
  world.settle();
  EXPECT_TRUE(recv.done && send.done);
  EXPECT_EQ(Bytes(recv.buffer.begin(), recv.buffer.begin() + 60), send.bytes);
}

TEST(P2pHostile, random_changes_to_good_packets_do_no_harm) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    World world(2, 64, 200, seed);
    std::vector<std::unique_ptr<Send>> sends;
    std::vector<std::unique_ptr<Recv>> recvs;
    for (int i = 0; i < 12; ++i) {
      const int from = static_cast<int>(world.chance.below(2));
      sends.push_back(
          std::make_unique<Send>(world, from, 1 - from, i % 3, random_bytes(world.chance.below(400), seed)));
      recvs.push_back(std::make_unique<Recv>(world, 1 - from, from, i % 3, world.chance.below(400)));
    }
    for (int step = 0; step < 400; ++step) {
      const int from = static_cast<int>(world.chance.below(2));
      world.transmit(from, 1 - from);
      auto& link = world.link(from, 1 - from);
      if (!link.empty() && world.chance.below(4) == 0) {
        Bytes& packet = link.front();
        packet[world.chance.below(packet.size())] ^= static_cast<unsigned char>(1u << world.chance.below(8));
        if (world.chance.below(8) == 0) packet.resize(world.chance.below(packet.size()));
      }
      world.deliver(from, 1 - from);
    }
    // Operations that wait for what was lost are ended by their peer's end; none may be linked any more.
    world.core(0).on_peer_gone(1);
    world.core(1).on_peer_gone(0);
    for (auto& recv : recvs)
      if (!recv->done) {
        world.core(0).cancel(*recv);
        if (!recv->done) world.core(1).cancel(*recv);
      }
    for (auto& send : sends) EXPECT_TRUE(send->done);
  }
}
