// SPDX-License-Identifier: BSD-3-Clause
// rel/lane_info.hpp: what identifies a lane: its name, its members in their common order, and its address.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "rel/lane_numbers.hpp"
#include "rel/lane_tree.hpp"
#include "rel/lanes.hpp"
#include "wire/lane.hpp"

namespace herald::rel {

constexpr std::int32_t kAllMembers = -1;

// Where a datagram goes, and for which receiver its tag is computed.
struct Destination {
  std::int32_t to;  // a peer, or -1 - LaneId for the group of a lane
  std::uint32_t seal;
  std::uint8_t interface = 0;  // of a multicast
};
constexpr Destination to_peer(PeerId peer) noexcept { return {peer, static_cast<std::uint32_t>(peer)}; }

struct LaneInfo {
  LaneInfo(std::uint64_t name, std::span<const PeerId> members, const LanesConfig& config) noexcept;

  std::int32_t place_of(std::uint32_t rank) const noexcept;  // among the members; -1: not a member
  LaneTree tree_of(std::uint32_t source) const noexcept {
    return {static_cast<std::uint32_t>(members.size()), source};
  }
  Destination to_group() const noexcept { return {-1 - id, wire::group_seal(name), interface}; }
  Destination to_member(std::uint32_t place) const noexcept { return to_peer(members[place]); }
  Destination to_place(std::int32_t place) const noexcept {
    return place == kAllMembers ? to_group() : to_member(static_cast<std::uint32_t>(place));
  }
  std::uint8_t address_flags() const noexcept {
    return static_cast<std::uint8_t>(address_index << wire::kAddressShift);
  }

  const std::uint64_t name;
  LaneId id = -1;
  std::uint16_t index = 0;  // in compact contributions (wire/compact.hpp); 0: none
  std::uint16_t me = 0;     // our place among the members
  const bool tree;          // acknowledgements are combined up a tree
  std::uint8_t address_index = 0;
  std::uint8_t interface = 0;  // that our multicast leaves by
  bool closing = false;        // to be reaped
  bool draining = false;       // closed, but a member has not received all that we cast
  std::vector<PeerId> members;
  std::vector<std::uint16_t> by_rank;  // places, ordered by rank
  LaneNumbers numbers;
};

}  // namespace herald::rel
