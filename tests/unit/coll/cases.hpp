// SPDX-License-Identifier: BSD-3-Clause
// cases.hpp: a collective over made-up data, and the check of its result against the definition.
#pragma once
#include <gtest/gtest.h>

#include <string>

#include "job.hpp"

namespace herald::coll {

struct Case {
  int ranks = 1, root = 0;
  std::int64_t count = 1;
  bool in_place = false;
  bool commutes = true;
  bool gappy_send = false, gappy_recv = false;
};

inline constexpr int kRankCounts[] = {1, 2, 3, 5, 8, 13};

// What rank `from` has for rank `to` at index i. Odd entries, so that matrix products do not fade to zero.
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
         (c.gappy_send ? " gappy send" : "") + (c.gappy_recv ? " gappy recv" : "") + " seed " +
         std::to_string(seed);
}

inline bool fits(const Algorithm& algorithm, const Case& c) {
  Shape shape;
  shape.ranks = c.ranks;
  shape.commutes = c.commutes;
  shape.shared_bytes = kSharedBytes;
  shape.lane = true;
  shape.streams = true;
  shape.reads_peers = true;
  return algorithm.fits(shape);
}

}  // namespace herald::coll
