// SPDX-License-Identifier: BSD-3-Clause
// engine/lanes.hpp: lanes of the program: one send reaches all members, by multicast.
#pragma once
#include <cstdint>
#include <span>

#include "node/node.hpp"

namespace herald::engine {

class Net;
class Transport;

class Lanes {
 public:
  Lanes(node::Node& node, Transport& transport) noexcept : node_(node), transport_(transport) {}
  Lanes(const Lanes&) = delete;
  Lanes& operator=(const Lanes&) = delete;
  // Until then there are none.
  void use(Net& net) noexcept { net_ = &net; }

  // A lane to these peers, this process among them. All members give the same name and order, and none waits
  // for another. A send with SendOp::lane then goes to all others. -1: there is none; send to each member.
  std::int32_t open(std::uint64_t name, std::span<const p2p::PeerId> members) noexcept;
  void close(std::int32_t lane) noexcept;
  // A lane of some members of an open one, by which only this process sends. It invites the members and waits
  // for none. -1: not now. Members close it with the whole lane, or when close_sub_lane() dismisses them:
  // that is for lanes by which each member was sent something.
  std::int32_t open_sub_lane(std::int32_t whole, std::span<const p2p::PeerId> members) noexcept;
  void close_sub_lane(std::int32_t lane) noexcept { node_.lanes().close_sub_lane(lane); }
  // Bytes per second that our casts have reached; 0: not known.
  std::uint64_t proven_rate() const noexcept;
  // Bytes per second that casts have passed through our own interface; 0: not known.
  std::uint64_t uplink_rate() const noexcept;
  // Bytes per second of the slowest interface among the hosts of the job, as their kernels say; the same on
  // all ranks. 0: not known.
  std::uint64_t interface_rate() const noexcept;
  // Sends with SendOp::bundled may wait for this.
  void flush(std::int32_t lane) noexcept;

  // A step of a fused exchange: its root gathers a short contribution of each member, and announces a result.
  // All members number the exchanges of a lane alike.
  void start(p2p::FusedOp& op) noexcept;

 private:
  node::Node& node_;
  Transport& transport_;
  Net* net_ = nullptr;
};

}  // namespace herald::engine
