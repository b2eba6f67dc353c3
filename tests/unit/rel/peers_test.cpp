// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a peer that comes later is not reachable; a datagram under the key of another pair of
// processes is accepted; a peer that is forgotten before its first use comes back.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "base/prng.hpp"
#include "rel/mesh.hpp"
#include "rel/peer_liveness.hpp"

namespace herald::rel {
namespace {

constexpr wire::JobKey kJob{1, 2}, kPair{3, 4}, kOther{5, 6};

// A process that remembers what it was delivered.
struct Process final : Listener {
  explicit Process(PeerId me) : mesh(config(me), prng, *this) {}
  static MeshConfig config(PeerId me) {
    MeshConfig config;
    config.me = me;
    config.peers = 2;
    config.seal = {kJob, 7};
    return config;
  }
  Status deliver(PeerId, std::span<const std::byte> packet) noexcept override {
    got.emplace_back(reinterpret_cast<const char*>(packet.data()), packet.size());
    return Status::ok;
  }
  void returned(PeerId, std::uint32_t) noexcept override {}
  void peer_lost(PeerId) noexcept override {}
  void link_changed(PeerId, LinkId, bool) noexcept override {}

  bool send(PeerId to, const std::string& text) {
    const std::span<std::byte> room = mesh.reserve(to, text.size());
    if (room.empty()) return false;
    std::memcpy(room.data(), text.data(), text.size());
    mesh.commit(to, text.size());
    return true;
  }
  // Moves datagrams to their receivers, one by one or several at once.
  void transmit(std::span<Process* const> all, bool together = false) {
    const auto batch = std::make_unique<TxBatch>();
    while (mesh.poll_transmit(now, *batch) != 0)
      for (Process* const to : all) {
        std::vector<Mesh::Rx> row;
        for (std::size_t i = 0; i < batch->count; ++i)
          if (batch->entries[i].to == to->id) row.push_back({0, batch->entries[i].datagram});
        if (together && !row.empty()) {
          to->mesh.on_datagrams(now, row);
          continue;
        }
        for (const Mesh::Rx& one : row) to->mesh.on_datagram(now, one.link, one.datagram);
      }
  }

  Prng prng{1};
  Mesh mesh;
  PeerId id = 0;
  Instant now{1'000'000};
  std::vector<std::string> got;
};

struct Pair {
  Pair(PeerId a, PeerId b) : first(a), second(b) {
    first.id = a;
    second.id = b;
  }
  void exchange() {
    Process* const all[] = {&first, &second};
    for (int i = 0; i < 3; ++i) {
      first.transmit(all);
      second.transmit(all, true);
    }
  }
  Process first, second;
};

TEST(RelPeers, a_peer_beyond_the_initial_count_comes_later) {
  Pair pair(0, 1000);
  EXPECT_FALSE(pair.first.send(1000, "early"));
  pair.first.mesh.add_peer(1000, 1);
  pair.second.mesh.add_peer(0, 1);
  ASSERT_TRUE(pair.first.send(1000, "hello"));
  pair.exchange();
  ASSERT_TRUE(pair.second.send(0, "welcome"));
  pair.exchange();
  EXPECT_EQ(pair.second.got, std::vector<std::string>{"hello"});
  EXPECT_EQ(pair.first.got, std::vector<std::string>{"welcome"});
  EXPECT_TRUE(pair.first.mesh.is_used(1000));
  EXPECT_FALSE(pair.first.send(999, "nobody"));
  EXPECT_FALSE(pair.first.send(1001, "nobody"));
}

// Both are rank 0 of their jobs, and each knows the other by an id of its own.
TEST(RelPeers, a_process_of_another_job_is_named_by_its_receiver) {
  Pair pair(0, 0);
  PairIdentity first(kPair), second(kPair);
  first.from = 9;  // our id there
  second.from = 5;
  first.me = second.to = 1;
  first.to = second.me = 2;
  first.eager_packets = second.eager_packets = 4;
  first.datagram_bytes = 600;  // the second one takes no more
  pair.first.mesh.add_peer(5, 1, first);
  pair.second.mesh.add_peer(9, 1, second);
  pair.first.id = 9;  // as the sender of the other side addresses it
  pair.second.id = 5;
  ASSERT_TRUE(pair.first.send(5, "hello"));
  pair.exchange();
  ASSERT_TRUE(pair.second.send(9, "welcome"));
  pair.exchange();
  EXPECT_EQ(pair.second.got, std::vector<std::string>{"hello"});
  EXPECT_EQ(pair.first.got, std::vector<std::string>{"welcome"});
  EXPECT_LE(pair.first.mesh.reserve(5, 1).size(), 600u);
}

// An attacker sends a datagram back to its sender, which uses the same id and key for the receiver.
TEST(RelPeers, a_reflected_datagram_is_refused) {
  Process process(0);
  PairIdentity pair(kPair);
  pair.from = 5;
  pair.me = 1;
  pair.to = 2;
  pair.eager_packets = 4;
  process.mesh.add_peer(5, 1, pair);
  process.id = 5;
  ASSERT_TRUE(process.send(5, "hello"));
  Process* const all[] = {&process};
  process.transmit(all);
  EXPECT_TRUE(process.got.empty());
  EXPECT_EQ(process.mesh.counters().forged, 1u);
}

TEST(RelPeers, a_pair_may_have_a_key_of_its_own) {
  Pair pair(0, 1);
  pair.first.mesh.add_peer(1, 1, kPair);
  pair.second.mesh.add_peer(0, 1, kPair);
  for (int i = 0; i < 20; ++i) {
    ASSERT_TRUE(pair.first.send(1, std::string(1200, 'a')));
    ASSERT_TRUE(pair.second.send(0, std::string(1200, 'b')));
    if (i % 5 == 4) pair.exchange();
  }
  EXPECT_EQ(pair.first.got.size(), 20u);
  EXPECT_EQ(pair.second.got.size(), 20u);
  EXPECT_EQ(pair.first.mesh.counters().forged + pair.second.mesh.counters().forged, 0u);
}

TEST(RelPeers, a_packet_under_the_key_of_another_pair_is_refused_and_counted) {
  for (const std::optional<wire::JobKey>& wrong : {std::optional(kOther), std::optional<wire::JobKey>()}) {
    Pair pair(0, 1);
    pair.first.mesh.add_peer(1, 1, wrong);
    pair.second.mesh.add_peer(0, 1, kPair);
    ASSERT_TRUE(pair.first.send(1, "wrong"));
    pair.exchange();
    EXPECT_TRUE(pair.second.got.empty());
    EXPECT_EQ(pair.second.mesh.counters().forged, 1u);
    EXPECT_EQ(pair.second.mesh.counters().received, 0u);
    ASSERT_TRUE(pair.second.send(0, "wrong as well"));
    pair.exchange();
    EXPECT_TRUE(pair.first.got.empty());
    EXPECT_EQ(pair.first.mesh.counters().forged, 1u);
  }
}

// Datagrams of peers with different keys in one row, and in one batch that leaves.
TEST(RelPeers, peers_with_different_keys_are_served_together) {
  Process hub(0);
  std::vector<std::unique_ptr<Process>> leaves;
  std::vector<Process*> all{&hub};
  for (PeerId id = 1; id <= 4; ++id) {
    leaves.push_back(std::make_unique<Process>(id));
    all.push_back(leaves.back().get());
    leaves.back()->id = id;
    const std::optional<wire::JobKey> key =
        id % 2 == 0 ? std::optional(wire::JobKey{100, static_cast<std::uint64_t>(id)}) : std::nullopt;
    hub.mesh.add_peer(id, 1, key);
    leaves.back()->mesh.add_peer(0, 1, key);
  }
  for (int round = 0; round < 3; ++round) {
    for (PeerId id = 1; id <= 4; ++id) {
      ASSERT_TRUE(hub.send(id, std::string(1000, 'h')));
      ASSERT_TRUE(leaves[static_cast<std::size_t>(id - 1)]->send(0, std::string(1000, 'l')));
    }
    for (Process* const each : all) each->transmit(all, true);
  }
  EXPECT_EQ(hub.got.size(), 12u);
  EXPECT_EQ(hub.mesh.counters().forged, 0u);
  for (const auto& leaf : leaves) {
    EXPECT_EQ(leaf->got.size(), 3u);
    EXPECT_EQ(leaf->mesh.counters().forged, 0u);
  }
}

TEST(RelPeers, a_peer_forgotten_before_its_first_use_stays_forgotten) {
  Pair pair(0, 1);
  pair.first.mesh.add_peer(1, 1);
  pair.second.mesh.add_peer(0, 1);
  pair.first.mesh.forget_peer(1);
  EXPECT_FALSE(pair.first.send(1, "late"));
  pair.first.mesh.liveness().probe(pair.first.now, 1);
  EXPECT_FALSE(pair.first.mesh.has_work());
  ASSERT_TRUE(pair.second.send(0, "hello"));
  pair.exchange();
  EXPECT_TRUE(pair.first.got.empty());
  EXPECT_EQ(pair.first.mesh.counters().stale, 0u);
  EXPECT_EQ(pair.first.mesh.liveness().detector(pair.first.now, 1), nullptr);
}

// Another transport that asks makes the mesh miss the peer; news from it keeps the peer alive.
TEST(RelPeers, other_transports_feed_the_failure_detector) {
  for (const bool answers : {false, true}) {
    Pair pair(0, 1);
    pair.first.mesh.add_peer(1, 1);
    Instant now = pair.first.now;
    FailureDetector* const detector = pair.first.mesh.liveness().detector(now, 1);
    ASSERT_NE(detector, nullptr);
    detector->on_asked(now);
    detector->on_probe(now);
    const std::optional<Instant> due = pair.first.mesh.next_deadline();
    ASSERT_TRUE(due.has_value());
    EXPECT_LE(*due, detector->deadline());
    if (answers) pair.first.mesh.liveness().detector(now, 1)->on_news(now);
    now = now + give_up_after(MeshConfig{}.give_up);
    pair.first.mesh.on_deadline(now);
    EXPECT_EQ(pair.first.mesh.counters().peers_lost, answers ? 0u : 1u);
  }
}

}  // namespace
}  // namespace herald::rel
