// SPDX-License-Identifier: BSD-3-Clause
// tests/unit/rel/callers.hpp: nodes of a LaneWorld that call fused exchanges.
#pragma once
#include <array>
#include <cstring>
#include <set>
#include <vector>

#include "rel/lane_numbers.hpp"
#include "tests/unit/rel/lane_world.hpp"
#include "wire/datagram.hpp"

namespace herald::rel {

constexpr int kContributions = static_cast<int>(wire::DatagramKind::contribution);
constexpr int kResults = static_cast<int>(wire::DatagramKind::result);
constexpr int kContributionAcks = static_cast<int>(wire::DatagramKind::contribution_ack);
constexpr int kCompacts = static_cast<int>(wire::DatagramKind::compact_contribution);

// Every node of a world calls an allreduce of one number again and again, several calls at once.
class Callers {
 public:
  explicit Callers(LaneWorld& world_) : world(world_), next(static_cast<std::size_t>(world_.size())) {}

  static std::uint64_t contribution(PeerId node, std::uint32_t number) {
    return number * 1000u + static_cast<std::uint64_t>(node) * 7;
  }
  std::uint64_t sum(std::uint32_t number) const {
    std::uint64_t all = 0;
    for (PeerId id = 0; id < world.size(); ++id) all += contribution(id, number);
    return all;
  }
  LaneId lane(PeerId id) { return world[id].ids[1]; }

  // One step of a node in the fused exchanges before `until`. True: it made progress.
  bool go_on(PeerId id, std::uint32_t until) {
    std::uint32_t& at = next[static_cast<std::size_t>(id)];
    if (at == until || world[id].dead) return false;
    Lanes& lanes = world[id].lanes;
    if (id == 0) {
      if (lanes.gather(lane(0), at) != Lanes::FusedState::complete) return false;
      std::uint64_t all = contribution(0, at);
      for (PeerId from = 1; from < world.size(); ++from)
        all += value(lanes.contribution(lane(0), at, static_cast<std::size_t>(from)));
      lanes.announce(world.now(), lane(0), at, bytes(all));
    } else {
      if (contributed.insert({id, at}).second) {
        EXPECT_TRUE(lanes.contribute(lane(id), at, bytes(contribution(id, at))));
      }
      world.settle(id);
      std::span<const std::byte> result;
      if (lanes.result(lane(id), at, result) != Lanes::FusedState::complete) return false;
      EXPECT_EQ(value(result), sum(at)) << id;
      lanes.take_result(lane(id), at);
    }
    ++at;
    world.settle(id);
    return true;
  }
  // Whether all nodes complete the exchanges before `until` within the time.
  bool run(Duration time, std::uint32_t until) {
    return world.run(time, [&] {
      bool all = true;
      for (PeerId id = 0; id < world.size(); ++id) {
        while (go_on(id, until)) {
        }
        all = all && (next[static_cast<std::size_t>(id)] == until || world[id].dead);
      }
      return all;
    });
  }

  LaneWorld& world;
  std::vector<std::uint32_t> next;
  std::set<std::pair<PeerId, std::uint32_t>> contributed;

 private:
  static std::uint64_t value(std::span<const std::byte> from) {
    std::uint64_t number = 0;
    EXPECT_EQ(from.size(), sizeof number);
    if (from.size() == sizeof number) std::memcpy(&number, from.data(), sizeof number);
    return number;
  }
  std::span<const std::byte> bytes(std::uint64_t number) {
    std::memcpy(room_.data(), &number, sizeof number);
    return room_;
  }
  std::array<std::byte, 8> room_{};
};

inline LaneWorldConfig hosts(int nodes) {
  LaneWorldConfig config;
  config.nodes = nodes;
  return config;
}

}  // namespace herald::rel
