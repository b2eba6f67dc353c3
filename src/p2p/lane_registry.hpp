// SPDX-License-Identifier: BSD-3-Clause
// p2p/lane_registry.hpp: the lanes that this process has open: the address of each, and sub-lanes: lanes of
// some members of another lane, opened by one of them that invites the others.
// In:  lanes to open and close; moves, invitations and dismissals from the carrier; foreign datagrams.
// Out: groups to join and to leave; where a lane's datagrams go.
// Invariant: a group is left as often as it was joined.
#pragma once
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "base/instant.hpp"
#include "group/address.hpp"
#include "p2p/core.hpp"
#include "p2p/lane_carrier.hpp"
#include "rel/lanes.hpp"

namespace herald::p2p {

// The path that receives datagrams of groups. Joins are counted.
class LaneGroups {
 public:
  virtual bool join(const group::Address& group) noexcept = 0;  // false: no more can be joined
  virtual void leave(const group::Address& group) noexcept = 0;
  // For messages to the user.
  virtual void on_shared() noexcept {}  // a lane shares the group of others
  virtual void on_moved(std::uint8_t /*move*/) noexcept {}
  virtual void on_strangers() noexcept {}

 protected:
  ~LaneGroups() = default;
};

class LaneRegistry {
 public:
  LaneRegistry(PeerId me, std::int32_t peers, Core& core, LaneCarrier& carrier, rel::Lanes& lanes) noexcept
      : me_(me), peers_(peers), core_(core), carrier_(carrier), lanes_(lanes) {}
  // Without it all packets go by unicast.
  void use(const group::Pool& pool, LaneGroups* groups) noexcept;

  rel::LaneId open(std::uint64_t name, std::span<const PeerId> members) noexcept;
  void close(rel::LaneId lane) noexcept;
  // A lane of some members of another one, which it invites. A member that has not opened it yet is served by
  // unicast. -1: not now. Members close it with that other one; or when close_sub_lane() dismisses them,
  // which is for lanes over which each of them has received something.
  rel::LaneId open_sub_lane(rel::LaneId whole, std::span<const PeerId> members) noexcept;
  void close_sub_lane(rel::LaneId lane) noexcept;
  void forget(PeerId peer) noexcept;

  // A turn: received calls; then, when timers have run, moves and dismissals that wait for room.
  void answer_calls() noexcept;
  void turn(Instant now) noexcept;
  void leave_old(Instant now) noexcept;
  // A datagram of another job came to the group.
  void on_foreign(Instant now, const group::Address& group) noexcept;
  // True if something changed since the last call: there may be something to send.
  bool take_stirred() noexcept { return std::exchange(stirred_, false); }

  const group::Address& group_of(rel::LaneId lane) const noexcept {
    return spots_[static_cast<std::size_t>(lane)].group;
  }
  bool is_sub_lane(rel::LaneId lane) const noexcept {  // opened by us
    return spots_[static_cast<std::size_t>(lane)].part;
  }
  std::size_t invited() const noexcept { return invited_.size(); }
  std::size_t joins() const noexcept;  // of groups, that must be left
  bool is_ending() const noexcept { return !ending_.empty(); }

 private:
  struct Spot {  // of a lane
    group::Address group{};
    std::uint64_t name = 0;
    bool joined = false;
    bool part = false;
  };
  // A sub-lane that another member opened.
  struct Invited {
    std::uint64_t name;
    PeerId host;
    rel::LaneId whole, lane;
  };
  struct Left {
    Instant at;
    group::Address group;
  };
  Spot& spot(rel::LaneId lane) noexcept { return spots_[static_cast<std::size_t>(lane)]; }
  void shut(rel::LaneId lane) noexcept;
  bool is_good(const LaneCarrier::Call& call) const noexcept;
  void dismiss_invited() noexcept;
  void follow_moves(Instant now) noexcept;

  const PeerId me_;
  const std::int32_t peers_;
  Core& core_;
  LaneCarrier& carrier_;
  rel::Lanes& lanes_;
  group::Pool pool_;
  LaneGroups* groups_ = nullptr;
  bool shares_ = false;  // has joined the group that lanes share
  group::ForeignTraffic foreign_;
  std::vector<Spot> spots_;    // by lane
  std::vector<Left> leaving_;  // members may still send there
  std::vector<Invited> invited_;
  std::vector<rel::LaneId> ending_;  // sub-lanes that we opened and are closing
  std::uint32_t next_part_ = 0;
  bool stirred_ = false;
};

}  // namespace herald::p2p
