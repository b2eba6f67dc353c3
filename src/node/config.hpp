// SPDX-License-Identifier: BSD-3-Clause
// node/config.hpp: what a driver tells a node once, and what a node tells its driver.
#pragma once
#include <cstdint>

#include "base/instant.hpp"
#include "group/address.hpp"
#include "node/envelope.hpp"
#include "rel/lanes.hpp"
#include "rel/mesh.hpp"

namespace herald::node {

using PeerId = std::int32_t;

// The way to peers on other hosts. `mesh.me` and `mesh.peers` hold for the lanes too.
struct NodeConfig {
  rel::MeshConfig mesh;
  rel::LanesConfig lanes;
  group::Pool pool;  // of multicast addresses
  SecurityConfig security;
  std::uint64_t mesh_seed = 0, lanes_seed = 0;
  PeerId reporter = 0;  // prints what all ranks have seen of the network
};

// Joins and leaves multicast groups for a node. Joins are counted.
class GroupMembership {
 public:
  virtual bool join(const group::Address& group) noexcept = 0;  // false: no more can be joined
  virtual void leave(const group::Address& group) noexcept = 0;

 protected:
  ~GroupMembership() = default;
};

// Stands between reliability and matching, to observe or disturb what is delivered.
class PacketTap {
 public:
  virtual rel::Listener& unicast(rel::Listener& next) noexcept { return next; }
  virtual rel::LaneListener& multicast(rel::LaneListener& next) noexcept { return next; }

 protected:
  ~PacketTap() = default;
};

// Something that a person may want to know. `peer` and `amount` mean what the kind says.
struct NodeEvent {
  enum class Kind : std::uint8_t {
    link_down,           // amount: the link
    link_up,             // amount: the link
    segment_shrunk,      // the link carries datagrams of `amount` bytes, not of `full`
    segment_grown,       // it carries `amount` bytes again
    peer_silent,         // it has not answered for warn_after; amount: 1 if it ever did
    peer_answers,        // it answers again
    multicast_lost,      // the peer does not receive our multicast
    multicast_restored,  // it does
    multicast_lossy,     // amount: percent of the peer's multicast that we lose
    group_shared,        // no more groups can be joined: a lane shares one
    lane_moved,          // amount: the number of its new address
    group_foreign,       // others use a multicast address of ours
  };
  Kind kind;
  PeerId peer = -1;
  std::uint32_t amount = 0;
  rel::LinkId link = 0;    // of segments
  std::uint32_t full = 0;  // likewise
};

}  // namespace herald::node
