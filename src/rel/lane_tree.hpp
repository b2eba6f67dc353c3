// SPDX-License-Identifier: BSD-3-Clause
// rel/lane_tree.hpp: how acknowledgements are combined in a large lane: a tree over the places of the
// members, rotated so that the source is its root. All members compute the same tree.
#pragma once
#include <cstdint>

namespace herald::rel {

struct LaneTree {
  static constexpr std::uint32_t kBranches = 4;
  std::uint32_t members, source;  // how many; place of the root

  std::uint32_t spot(std::uint32_t place) const noexcept { return (place + members - source) % members; }
  std::uint32_t place(std::uint32_t spot) const noexcept { return (spot + source) % members; }
  // Not for the root.
  std::uint32_t parent(std::uint32_t of) const noexcept { return place((spot(of) - 1) / kBranches); }
  std::uint32_t children(std::uint32_t of) const noexcept {
    const std::uint32_t first = spot(of) * kBranches + 1;
    if (first >= members) return 0;
    return members - first < kBranches ? members - first : kBranches;
  }
  // Which child of its parent it is.
  std::uint32_t branch(std::uint32_t of) const noexcept { return (spot(of) - 1) % kBranches; }

  // Calls `what` for each place from `of` downward, itself included.
  template <class F>
  void below(std::uint32_t of, F&& what) const noexcept {
    for (std::uint32_t first = spot(of), last = first; first < members;
         first = first * kBranches + 1, last = last * kBranches + kBranches)
      for (std::uint32_t i = first; i <= last && i < members; ++i) what(place(i));
  }
};

}  // namespace herald::rel
