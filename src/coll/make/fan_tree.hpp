// SPDX-License-Identifier: BSD-3-Clause
// coll/make/fan_tree.hpp: a wide tree over ranks 0 .. n-1 with root 0: the subtree of a rank is the ranks
// right after it, in parts of nearly equal size. For gathering to one rank that then multicasts. Rank order
// is kept.
#pragma once
#include <algorithm>
#include <vector>

namespace herald::coll {

constexpr int kFanIn = 12;  // messages that a rank receives in the time of one more hop

struct FanTree {
  int parent = -1;  // -1: rank 0
  int end = 0;      // ranks [rank, end) are the subtree
  std::vector<int> children;

  FanTree(int rank, int ranks) noexcept : end(ranks) {
    for (int top = 0; top != rank;) {
      const int part = part_of(top, end), index = (rank - top - 1) / part;
      parent = top;
      top += 1 + index * part;
      end = std::min(end, top + part);
    }
    for (int child = rank + 1; child < end; child += part_of(rank, end)) children.push_back(child);
  }
  static int depth(int ranks) noexcept {
    int levels = 0;
    for (; ranks > 1; ++levels) ranks = part_of(0, ranks);
    return levels;
  }

 private:
  static int part_of(int top, int end) noexcept { return (end - top - 1 + kFanIn - 1) / kFanIn; }
};

}  // namespace herald::coll
