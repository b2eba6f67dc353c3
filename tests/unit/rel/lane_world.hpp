// SPDX-License-Identifier: BSD-3-Clause
// Several processes with lanes, joined by a switch in virtual time that forwards to groups. A datagram waits
// for the sender's link, then for each receiver's, whose queue in the switch is finite. A seed decides which
// datagrams are lost (by one receiver, by all, in bursts), duplicated, late or corrupt.
#pragma once
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <queue>
#include <set>
#include <vector>

#include "base/prng.hpp"
#include "rel/lanes.hpp"
#include "rel/mesh.hpp"
#include "rel/peer_liveness.hpp"

namespace herald::rel {

struct LaneWorldConfig {
  int nodes = 2;
  std::uint64_t seed = 1;
  double bits_per_second = 1e9;
  Duration delay = microseconds(50);  // one way, in all
  std::uint64_t switch_bytes = 1 << 20;
  std::uint64_t nic_bytes = 512 << 10;  // a node with more than this before it waits until half has left
  double loss = 0;                      // independently for each receiver
  double common_loss = 0;               // before the switch
  double burst = 0;                     // probability that a receiver's link loses the next 20 packets
  double duplicate = 0, reorder = 0, corrupt = 0;
  Duration reorder_by = microseconds(300);
  std::size_t train = 1;  // multicasts that a node receives together, at most, where they come closely
  bool all_open = true;   // every node opens lane 1 of all nodes
  LanesConfig lanes;
  MeshConfig mesh;                       // judges whether members are alive
  std::map<PeerId, std::uint32_t> held;  // held_packets of single nodes
};

class LaneWorld;

// Casts numbered packets, and checks that those of each lane and source arrive without a gap.
class LaneNode final : public LaneListener, public Listener {
 public:
  LaneNode(LaneWorld& world, PeerId me, const LaneWorldConfig& config);

  void open(std::uint64_t name, std::vector<PeerId> members);
  void cast(std::uint64_t name, std::uint64_t packets, std::uint32_t bytes);
  void pump();
  void pump(LaneId lane);

  Status deliver(LaneId lane, PeerId source, std::span<const std::byte> packet) noexcept override;
  void reachability_changed(LaneId, PeerId member, bool receives) noexcept override {
    changes.push_back({member, receives});
  }
  Status deliver(PeerId, std::span<const std::byte>) noexcept override { return Status::ok; }
  void returned(PeerId, std::uint32_t) noexcept override {}
  void link_changed(PeerId, LinkId, bool) noexcept override {}
  void peer_lost(PeerId peer) noexcept override {
    lost.push_back(peer);
    lanes.forget_peer(peer);
  }
  void on_datagram(bool by_group, std::span<const std::byte> datagram);
  void on_train();
  void on_deadline();
  std::size_t poll_transmit(TxBatch& out);
  std::optional<Instant> next_deadline() const;
  void address_changed(LaneId, std::uint8_t index) noexcept override { address = index; }

  struct Flow {
    std::uint64_t packets = 0, next = 0;
    std::uint32_t bytes = 0;
  };
  LaneWorld& world;
  PeerId me;
  Prng prng, mesh_prng{1};
  Mesh mesh;
  Lanes lanes;
  std::map<std::uint64_t, LaneId> ids;
  std::map<LaneId, std::uint64_t> names;
  std::map<LaneId, Flow> flows;
  std::map<std::pair<std::uint64_t, PeerId>, std::uint64_t> expected;
  std::uint64_t got = 0, wrong = 0, refused = 0;
  std::vector<std::pair<PeerId, bool>> changes;
  std::vector<PeerId> lost;
  std::function<bool(PeerId source)> gate;               // false: the packet is refused
  std::function<void(std::uint64_t, PeerId)> on_packet;  // lane's name, source
  std::vector<std::vector<std::byte>> train;             // has come, and is to be received together
  bool dead = false;
  std::uint8_t address = 0;  // address index of lane 1
};

class LaneWorld {
 public:
  explicit LaneWorld(const LaneWorldConfig& config);

  LaneNode& operator[](PeerId id) { return *nodes_[static_cast<std::size_t>(id)]; }
  int size() const { return config.nodes; }
  Instant now() const { return now_; }
  bool run(Duration at_most, const std::function<bool()>& done);
  void run(Duration time) {
    run(time, [] { return false; });
  }
  void freeze(Duration time) {  // no node is called meanwhile
    now_ = now_ + time;
    for (const auto& node : nodes_) node->mesh.on_clock_gap(now_);
  }
  void settle(PeerId id);
  bool all_flushed();
  // Delivers at once a datagram sealed as if a member had sent it. `number`: the whole of it.
  void inject(PeerId to, wire::DatagramKind kind, std::uint8_t flags, PeerId from, std::uint64_t number,
              std::span<const std::byte> body);
  // Whether all others have `packets` of `source` on lane `name`.
  bool have(PeerId source, std::uint64_t packets, std::uint64_t name = 1);
  LaneCounters sum();

  LaneWorldConfig config;
  Prng chance;
  std::function<bool(PeerId from, PeerId to)> forwards;  // multicast; false: not forwarded
  std::function<bool(PeerId from, PeerId to)> cut;       // true: nothing passes
  std::function<bool(PeerId from, PeerId to, std::span<const std::byte>)> drop;
  std::uint64_t datagrams = 0, by_group = 0, dropped = 0, dropped_full = 0;
  std::map<int, std::uint64_t> kinds;  // datagrams that left

 private:
  struct Event {
    Instant at;
    std::uint64_t order;
    enum Kind { timer, at_switch, arrival, train } kind;
    PeerId from, to;  // to < 0: the group
    bool group;
    std::vector<std::byte> bytes;
  };
  struct Later {
    bool operator()(const std::shared_ptr<Event>& a, const std::shared_ptr<Event>& b) const {
      return a->at == b->at ? a->order > b->order : a->at > b->at;
    }
  };
  void transmit(PeerId from, const Tx& tx);
  void at_switch(const Event& event);
  void arrive(const Event& event);
  void to_port(PeerId from, PeerId to, bool group, std::span<const std::byte> bytes);
  void post(Event event);
  std::int64_t line_ns(std::size_t bytes) const;
  bool happens(double probability) {
    return probability > 0 && static_cast<double>(chance.next() >> 11) * 0x1p-53 < probability;
  }

  Instant now_{1'000'000};
  std::uint64_t order_ = 0;
  std::vector<std::unique_ptr<LaneNode>> nodes_;
  std::vector<Instant> timer_, up_free_, down_free_;
  std::vector<int> bad_;  // packets that a link still loses
  std::priority_queue<std::shared_ptr<Event>, std::vector<std::shared_ptr<Event>>, Later> events_;
};

// Members are given up soon.
LaneWorldConfig small(int nodes);
// All packets arrived, no member was lost, and no memory is held.
void expect_clean(LaneWorld& world);

}  // namespace herald::rel
