// SPDX-License-Identifier: BSD-3-Clause
// cases.hpp: a collective over made-up data, and the check of its result against the definition.
#pragma once
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "job.hpp"

namespace herald::coll {

struct Case {
  int ranks = 1, root = 0;
  std::int64_t count = 1;
  bool in_place = false;
  bool commutes = true;
  bool gappy_send = false, gappy_recv = false;
  bool fast = false;                 // between hosts; false: by chance
  const Cluster* cluster = nullptr;  // several hosts, some with several ranks
  std::uint32_t shared_bytes =
      0;  // with a cluster: bytes that a post may copy; 0: there are no collective segments
};

inline constexpr double kPortBytes = 60;  // of a switch: three items
inline constexpr int kRankCounts[] = {1, 2, 3, 5, 8, 13};

// The item of rank `from` for rank `to` at index i. Odd entries, so that matrix products do not become zero.
inline Item made_up(int from, int to, std::int64_t i) noexcept {
  Item item;
  Prng prng(static_cast<std::uint64_t>(from) * 1000003 + static_cast<std::uint64_t>(to) * 1009 +
            static_cast<std::uint64_t>(i));
  for (std::uint32_t& word : item.word) word = static_cast<std::uint32_t>(prng.next()) | 1;
  return item;
}

inline std::string text_of(const Algorithm& algorithm, const Case& c, std::uint64_t seed) {
  return std::string(name_of(algorithm.op)) + "/" + algorithm.name + " ranks " + std::to_string(c.ranks) +
         " root " + std::to_string(c.root) + " count " + std::to_string(c.count) +
         (c.in_place ? " in place" : "") + (c.commutes ? "" : " ordered") +
         (c.cluster == nullptr ? ""
                               : " on " + std::to_string(c.cluster->hosts()) + " hosts" +
                                     (c.shared_bytes == 0 ? "" : " with segments")) +
         (c.gappy_send ? " gappy send" : "") + (c.gappy_recv ? " gappy recv" : "") + " seed " +
         std::to_string(seed);
}

// Hosts of unequal size, of equal size, with one rank, and ranks distributed round-robin.
inline const std::vector<Cluster>& clusters() {
  const auto make = [](std::vector<int> numbers, bool lane, const std::vector<bool>& leads = {}) {
    Cluster cluster(numbers, leads);
    cluster.lane = lane;
    cluster.reads_peers = true;
    return cluster;
  };
  static const std::vector<Cluster> all = {
      make({0, 0, 1, 1}, false),
      make({0, 1, 0, 1, 0}, false),
      make({0, 0, 1, 1, 2, 2, 3, 3}, true),
      make({0, 0, 0, 1, 2, 2}, true),
      make({4, 3, 2, 4, 2, 2, 1, 4, 3}, true),
      make({0, 1, 2, 0, 1, 2}, true),
      make({0, 0, 0, 0, 1, 1, 1, 1, 1, 2, 3, 3, 4}, true),
      // Ranks of another job come first on some hosts.
      make({0, 0, 0, 1, 1, 2, 2}, true, {false, true, true, true, true, true, true}),
      make({0, 1, 2, 0, 1, 0, 2, 2}, true, {false, true, false, false, true, true, true, true}),
  };
  return all;
}
inline void put_on_hosts(const Case& c, CollSpec& spec) {
  spec.cluster = c.cluster;
  spec.fast = c.fast;
  spec.shared_bytes = c.shared_bytes;
  spec.incast = {.buffer_bytes = kPortBytes, .measured = true};
}

inline bool fits(const Algorithm& algorithm, const Case& c) {
  Shape shape;
  if (c.cluster != nullptr) {
    shape = shape_of(c.ranks, c.cluster->hosts(), c.commutes);
    shape.largest_host = c.cluster->largest();
    shape.host_order = c.cluster->in_order();
    shape.leaders_lane = c.cluster->lane;
    shape.shared_bytes = c.shared_bytes;
    shape.reads_peers = true;
    return std::string(algorithm.name) == "two_level" && algorithm.fits(shape);
  }
  shape.ranks = c.ranks;
  shape.commutes = c.commutes;
  shape.shared_bytes = kSharedBytes;
  shape.lane = true;
  shape.streams = true;
  shape.reads_peers = true;
  shape.incast.buffer_bytes = kPortBytes;
  return algorithm.fits(shape);
}

}  // namespace herald::coll
