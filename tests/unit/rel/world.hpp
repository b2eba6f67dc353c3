// SPDX-License-Identifier: BSD-3-Clause
// Several meshes joined by a switch in virtual time. Every node has `links` cables to the switch; a datagram
// waits for the sender's cable, then for the receiver's, whose queue in the switch is finite. A seed
// decides what is lost, duplicated, late or corrupt.
#pragma once
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <vector>

#include "base/prng.hpp"
#include "rel/mesh.hpp"
#include "rel/peer_liveness.hpp"

namespace herald::rel {

struct WorldConfig {
  int nodes = 2;
  LinkId links = 1;
  std::uint64_t seed = 1;
  double bits_per_second = 1e9;
  Duration delay = microseconds(50);  // one way, in all
  std::uint64_t switch_bytes = 1 << 20;
  double loss = 0, duplicate = 0, reorder = 0, corrupt = 0;
  Duration reorder_by = microseconds(300);
  std::uint32_t odd_bytes = 0;  // datagrams of nodes with odd numbers, if they differ
  bool borrows = false;         // packets borrow all but their first bytes
  MeshConfig mesh = [] {
    MeshConfig config;
    config.give_up = milliseconds(5000);
    return config;
  }();
};

class World;

// A node sends numbered packets and checks that those which come are numbered without gap.
class Node final : public Listener {
 public:
  Node(World& world, PeerId me, const WorldConfig& config);

  struct Flow {
    std::uint64_t packets = 0;  // still to send
    std::uint32_t bytes = 0;    // of each; 0: as much as fits
    std::uint64_t next = 0;
    std::uint64_t total_bytes = UINT64_MAX;  // stop after this many
  };
  void send(PeerId to, std::uint64_t packets, std::uint32_t bytes);
  void send_bytes(PeerId to, std::uint64_t bytes);
  void pump();
  bool pump(PeerId to);

  Status deliver(PeerId from, std::span<const std::byte> packet) noexcept override;
  void returned(PeerId to, std::uint32_t packets) noexcept override;
  void peer_lost(PeerId peer) noexcept override { lost.push_back(peer); }
  void peer_silent(PeerId peer, bool heard) noexcept override { silent.push_back({peer, heard}); }
  void peer_answers(PeerId peer) noexcept override { answers.push_back(peer); }
  void link_changed(PeerId, LinkId, bool) noexcept override {}
  void segment_changed(PeerId, LinkId, std::uint16_t bytes, std::uint16_t) noexcept override {
    segments.push_back(bytes);
  }

  World& world;
  PeerId me;
  Prng prng;
  Mesh mesh;
  std::map<PeerId, Flow> flows;
  std::map<PeerId, std::uint64_t> expected;
  std::map<PeerId, std::deque<std::vector<std::byte>>> borrowed;
  std::uint64_t got_back = 0;
  std::uint64_t got_bytes = 0, got_packets = 0, wrong = 0, refused = 0;
  std::vector<PeerId> lost, answers;
  std::vector<std::uint16_t> segments;          // sizes that were reported
  std::vector<std::pair<PeerId, bool>> silent;  // heard before?
  std::function<Status()> gate;                 // may refuse a delivery
  std::function<void(PeerId)> on_packet;        // after a delivery
  bool dead = false;
};

class World {
 public:
  explicit World(const WorldConfig& config);

  Node& operator[](PeerId id) { return *nodes_[static_cast<std::size_t>(id)]; }
  Instant now() const { return now_; }
  // Runs until `done` or the time is over; true if done.
  bool run(Duration at_most, const std::function<bool()>& done);
  void run(Duration time) {
    run(time, [] { return false; });
  }
  void freeze(Duration time) {  // no process runs meanwhile
    now_ = now_ + time;
    for (const auto& node : nodes_) node->mesh.on_clock_gap(now_);
  }
  void settle(PeerId id);  // after any call of a node
  bool all_flushed();

  WorldConfig config;
  Prng chance;
  std::function<bool(PeerId from, PeerId to, LinkId link)> cut;  // true: the cable is cut
  std::size_t longest = SIZE_MAX;                                // the cables drop longer datagrams
  std::function<void(const Tx&, PeerId from)> watch;             // sees every datagram that leaves
  std::uint64_t datagrams = 0, dropped_full = 0, dropped = 0, steps = 0;

 private:
  struct Event {
    Instant at;
    std::uint64_t order;
    PeerId to;
    LinkId link;
    enum class Kind { timer, in_switch, arrival } kind;
    std::vector<std::byte> bytes;
  };
  struct Later {
    bool operator()(const std::shared_ptr<Event>& a, const std::shared_ptr<Event>& b) const {
      return a->at == b->at ? a->order > b->order : a->at > b->at;
    }
  };
  void transmit(PeerId from, const Tx& tx);
  void forward(PeerId to, LinkId link, std::vector<std::byte> bytes);
  std::int64_t wire_ns(std::size_t bytes) const;
  void arrive(PeerId to, LinkId link, Instant at, std::vector<std::byte> bytes);
  bool happens(double probability) {
    return probability > 0 && static_cast<double>(chance.next() >> 11) * 0x1p-53 < probability;
  }

  Instant now_{1'000'000};
  std::uint64_t order_ = 0;
  std::vector<std::unique_ptr<Node>> nodes_;
  std::vector<Instant> timer_;
  std::map<std::pair<PeerId, LinkId>, Instant> up_free_, down_free_;
  std::priority_queue<std::shared_ptr<Event>, std::vector<std::shared_ptr<Event>>, Later> events_;
};

}  // namespace herald::rel
