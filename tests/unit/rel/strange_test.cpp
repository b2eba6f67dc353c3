// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a peer that has the key but another notion of numbers or lengths (another MTU, a bug)
// takes the process down, or makes it write beyond a buffer.
#include <gtest/gtest.h>

#include <vector>

#include "rel/mesh.hpp"
#include "rel/seq.hpp"

using namespace herald;
using namespace herald::rel;

namespace {

struct Above final : Listener {
  bool takes = true;
  std::vector<std::size_t> sizes;
  Status deliver(PeerId, std::span<const std::byte> packet) noexcept override {
    if (takes) sizes.push_back(packet.size());
    return takes ? Status::ok : Status::again;
  }
  void returned(PeerId, std::uint32_t) noexcept override {}
  void peer_lost(PeerId) noexcept override {}
  void link_changed(PeerId, LinkId, bool) noexcept override {}
};

struct Strange {
  MeshConfig config;
  Prng chance{1};
  Above above;
  std::unique_ptr<Mesh> mesh;
  Strange() {
    config.peers = 2;
    config.datagram_bytes = 500;
    mesh = std::make_unique<Mesh>(config, chance, above);
    mesh->add_peer(1, 1);
  }
  void data(std::uint32_t number, std::size_t body) {
    std::vector<std::byte> bytes(sizeof(wire::DatagramHead) + body, std::byte{7});
    auto& head = *reinterpret_cast<wire::DatagramHead*>(bytes.data());
    head = {wire::kDatagramVersion,
            static_cast<std::uint8_t>(wire::DatagramKind::data),
            0,
            0,
            1,
            config.first_seq + number,
            0};
    const std::span<std::byte> all(bytes);
    wire::seal(config.seal, 0, wire::crc32c(all.subspan(sizeof head)), all.first(sizeof head),
               {upper_half(WholeSeq(config.first_seq + 1).nearest(head.seq)), 0});
    EXPECT_EQ(mesh->on_datagram(Instant{1000}, 0, bytes), 1);
  }
};

}  // namespace

TEST(RelStrange, numbers_2_31_ahead_are_dropped_and_counted) {
  Strange job;
  job.above.takes = false;  // so that packets are received and not delivered
  job.data(0, 10);
  for (const std::uint32_t number : {0x80000000u, 0x80000001u, 0x7fffffffu, 1024u}) job.data(number, 10);
  EXPECT_EQ(job.mesh->counters().received, 1u);
  job.above.takes = true;
  job.mesh->redeliver();
  job.mesh->on_deadline(Instant{1000} + milliseconds(10));
  EXPECT_EQ(job.above.sizes, std::vector<std::size_t>{10});
}

TEST(RelStrange, packets_longer_than_our_mtu_are_taken_only_in_order) {
  Strange job;
  job.data(1, 4000);  // out of order: it does not fit into the reorder pool
  EXPECT_EQ(job.mesh->counters().received, 0u);
  job.data(0, 10);
  job.data(1, 4000);
  EXPECT_EQ(job.above.sizes, (std::vector<std::size_t>{10, 4000}));
}
