// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: an idle peer counts as dead because some probes were lost; a dead peer without traffic
// is never detected; a packet that the listener refused is delivered twice, late or never, or is
// retransmitted for ever because it is not acknowledged.
#include <array>

#include "tests/unit/rel/world.hpp"

namespace herald::rel {
namespace {

WorldConfig probing(double loss) {
  WorldConfig config;
  config.nodes = 3;
  config.loss = loss;
  config.mesh.give_up = milliseconds(1000);
  return config;
}

void probe_all(World& world, PeerId me) {
  for (PeerId peer = 0; peer < 3; ++peer)
    if (peer != me) world[me].mesh.liveness().probe(world.now(), peer);
  world.settle(me);
}

}  // namespace

TEST(RelProbe, live_peers_answer_despite_loss) {
  World world(probing(0.3));
  for (int i = 0; i < 40; ++i) {
    probe_all(world, 0);
    world.run(milliseconds(250));
  }
  EXPECT_TRUE(world[0].lost.empty());
  EXPECT_FALSE(world[0].mesh.is_used(1));
}

TEST(RelProbe, a_dead_peer_without_traffic_is_detected) {
  World world(probing(0));
  world.cut = [](PeerId from, PeerId to, LinkId) { return from == 2 || to == 2; };
  for (int i = 0; i < 10; ++i) {
    probe_all(world, 0);
    world.run(milliseconds(250));
  }
  EXPECT_EQ(world[0].lost, std::vector<PeerId>{2});
  EXPECT_EQ(world[0].mesh.counters().peers_lost, 1u);
}

TEST(RelProbe, time_in_which_all_processes_were_stopped_is_not_silence) {
  World world(probing(0));
  std::uint64_t sent = 0;
  for (const Duration before :
       {microseconds(1), milliseconds(300)}) {  // before a timeout; long after a probe
    world[0].send(1, 3, 100);
    sent += 3;
    world.cut = [](PeerId, PeerId, LinkId) { return true; };
    world.settle(0);
    if (before.ns > milliseconds(1).ns) probe_all(world, 0);
    world.run(before);
    world.freeze(milliseconds(60'000));
    world.run(milliseconds(500));
    world.cut = nullptr;
    world.run(milliseconds(500));
    EXPECT_TRUE(world[0].lost.empty()) << before.ns;
    EXPECT_EQ(world[1].got_packets, sent);
  }
  // A peer that died meanwhile is detected as fast as always.
  world.cut = [](PeerId from, PeerId to, LinkId) { return from == 2 || to == 2; };
  probe_all(world, 0);
  world.run(milliseconds(300));
  world.freeze(milliseconds(60'000));
  world.run(milliseconds(850));
  EXPECT_EQ(world[0].lost, std::vector<PeerId>{2});
}

TEST(RelProbe, a_refused_packet_is_acknowledged_and_delivered_once_in_order) {
  WorldConfig config;
  World world(config);
  bool open = false;
  world[1].gate = [&] { return open ? Status::ok : Status::again; };
  world[0].send(1, 10, 100);
  world.settle(0);
  world.run(milliseconds(2000));
  EXPECT_EQ(world[1].got_packets, 0u);
  EXPECT_TRUE(world[0].mesh.is_flushed());
  open = true;
  world[1].mesh.redeliver();
  EXPECT_LE(world[1].mesh.next_deadline().value(), world.now());
  world[1].mesh.on_deadline(world.now());
  EXPECT_EQ(world[1].got_packets, 10u);
  EXPECT_EQ(world[1].wrong, 0u);
  EXPECT_TRUE(world[1].mesh.is_used(0));
}

TEST(RelProbe, an_ack_of_packets_never_sent_is_refused) {
  for (const std::uint32_t ahead : {1u, 0x7fffffffu, 0x80000000u}) {
    World world(WorldConfig{});
    const MeshConfig& config = world.config.mesh;
    const wire::Seal seal{{0x0123456789abcdef, 0xfedcba9876543210}, 7};  // that of World
    wire::DatagramHead head{};
    head.version = wire::kDatagramVersion;
    head.kind = static_cast<std::uint8_t>(wire::DatagramKind::ack);
    head.flags = wire::kFlagAck;
    head.epoch = static_cast<std::uint8_t>(seal.epoch);
    head.from = 1;
    head.seq = config.first_seq;
    wire::AckPart ack{};
    ack.next = config.first_seq + ahead;
    ack.credit = config.first_seq + 16;
    ack.newest = config.first_seq - 1;
    std::array<std::byte, wire::kLargestDatagramHead> bytes;
    std::memcpy(bytes.data(), &head, sizeof head);
    std::memcpy(bytes.data() + sizeof head, &ack, sizeof ack);
    const std::uint64_t next = WholeSeq(config.first_seq).nearest(ack.next);
    wire::seal(seal, 0, 0, bytes, {0, upper_half(next)});
    EXPECT_EQ(world[0].mesh.on_datagram(world.now(), 0, bytes), 1);
    EXPECT_EQ(world[0].mesh.counters().malformed, 1u) << ahead;
  }
}

}  // namespace herald::rel
