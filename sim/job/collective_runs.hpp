// SPDX-License-Identifier: BSD-3-Clause
// sim/job/collective_runs.hpp: the lanes that the script of a simulated process opens, and the collectives
// that it runs over them.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "node/node.hpp"
#include "sim/job/collective.hpp"
#include "sim/net/net.hpp"

namespace herald::sim {

// Where lanes are. Not used: each lane has a group of its own.
struct LaneAddresses {
  bool used = false;
  group::Pool pool;
  std::uint32_t most_groups = 64;  // that a host can join ...
  HostId poor = -1;                // ... only this one; -1: each
};
GroupId group_number(const group::Address& address) noexcept;

// The groups of one host: joins are counted, and limited.
class NetGroups final : public node::GroupMembership {
 public:
  NetGroups(Net& net, HostId me, std::uint32_t most) noexcept : net_(net), me_(me), most_(most) {}
  bool join(const group::Address& group) noexcept override;
  void leave(const group::Address& group) noexcept override;
  std::uint64_t joins() const noexcept { return joins_; }  // that were not taken back

 private:
  Net& net_;
  const HostId me_;
  const std::uint32_t most_;
  std::map<GroupId, std::uint32_t> joined_;
  std::uint64_t joins_ = 0;
};

class CollectiveRuns {
 public:
  CollectiveRuns(Net& net, const Script& script, HostId me, std::uint64_t seed,
                 const LaneAddresses& addresses, node::Node& node);
  CollectiveRuns(const CollectiveRuns&) = delete;
  CollectiveRuns& operator=(const CollectiveRuns&) = delete;

  void open(std::uint32_t lane);
  void close(std::uint32_t lane);
  void start(std::uint32_t collective, Instant now);
  bool is_done(std::uint32_t collective) const {
    return runs_[collective] == nullptr || runs_[collective]->done();
  }
  bool all_done() const;
  const Collective* run_of(std::uint32_t collective) const { return runs_[collective].get(); }

  // Moves casts of all lanes towards the network, and ends collectives that are done.
  bool pump(Instant now);
  GroupId group_of(rel::LaneId lane) const;
  // The group of an arrival that is not ours.
  void on_foreign(Instant now, GroupId group);

  std::uint64_t most_buffered() const noexcept { return most_buffered_; }
  std::uint64_t sub_lane_calls() const noexcept { return sub_lane_calls_; }
  std::string state() const;
  std::string leaks() const;  // lanes and groups that nobody will close; empty: none

 private:
  struct Kept {  // a sub-lane for several calls
    std::uint32_t whole;
    std::vector<p2p::PeerId> members;
    rel::LaneId lane;
  };
  void choose_lane(std::uint32_t collective, Collective& run);
  bool end_done();

  Net& net_;
  const Script& script_;
  const HostId me_;
  const std::uint64_t seed_;
  node::Node& node_;
  const LaneAddresses addresses_;
  NetGroups groups_;
  std::vector<std::uint32_t> fused_;        // fused exchanges so far, by the script's lanes
  std::vector<rel::LaneId> ids_;            // of the script's lanes; -1: not open
  std::vector<std::uint32_t> script_lane_;  // by LaneId
  std::vector<std::unique_ptr<Collective>> runs_;
  std::vector<std::uint32_t> under_way_;
  std::vector<Kept> kept_;
  std::map<std::uint32_t, rel::LaneId> own_;  // by collective: lanes made for it
  std::uint64_t most_buffered_ = 0, sub_lane_calls_ = 0;
};

}  // namespace herald::sim
