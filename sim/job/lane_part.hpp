// SPDX-License-Identifier: BSD-3-Clause
// sim/job/lane_part.hpp: the lanes of a simulated process: p2p::LaneCarrier and rel::Lanes as the engine
// joins them, and the collectives that its script runs over them.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "p2p/fused_ops.hpp"
#include "p2p/lane_carrier.hpp"
#include "p2p/lane_registry.hpp"
#include "rel/lanes.hpp"
#include "sim/job/collective.hpp"
#include "sim/net/net.hpp"

namespace herald::sim {

// Stands between lanes and carrier, and now and then does not take a packet at once.
class MoodyEar final : public rel::LaneListener {
 public:
  MoodyEar(p2p::LaneCarrier& next, Prng& chance, double refuses) noexcept
      : next_(next), chance_(chance), refuses_(refuses) {}
  Status heard(rel::LaneId lane, rel::PeerId source, std::span<const std::byte> packet) noexcept override;
  void hearing_changed(rel::LaneId lane, rel::PeerId member, bool hears) noexcept override {
    next_.hearing_changed(lane, member, hears);
  }
  void member_lost(rel::LaneId lane, rel::PeerId member) noexcept override {
    next_.member_lost(lane, member);
  }
  void moved(rel::LaneId lane, std::uint8_t move) noexcept override { next_.moved(lane, move); }
  std::uint64_t taken() const noexcept { return taken_; }
  bool refused() const noexcept { return refused_; }  // what was handed in last

 private:
  p2p::LaneCarrier& next_;
  Prng& chance_;
  double refuses_;
  bool refused_ = false;
  std::uint64_t taken_ = 0;
};

// Where lanes are. Not used: each lane has a group of its own.
struct LaneAddresses {
  bool used = false;
  group::Pool pool;
  std::uint32_t most_groups = 64;  // that a host can join ...
  HostId poor = -1;                // ... only this one; -1: each
};
GroupId group_number(const group::Address& address) noexcept;

// The groups of one host: joins are counted, and limited.
class NetGroups final : public p2p::LaneGroups {
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

class LanePart {
 public:
  LanePart(Net& net, const Script& script, HostId me, std::uint64_t seed, const rel::LanesConfig& config,
           const LaneAddresses& addresses, double refuses, p2p::Core& core);
  LanePart(const LanePart&) = delete;
  LanePart& operator=(const LanePart&) = delete;

  void open(std::uint32_t lane);
  void close(std::uint32_t lane);
  void start(std::uint32_t collective, Instant now);
  bool is_done(std::uint32_t collective) const {
    return runs_[collective] == nullptr || runs_[collective]->done();
  }
  bool all_done() const;
  const Collective* run_of(std::uint32_t collective) const { return runs_[collective].get(); }

  bool on_datagram(Instant now, const Arrival& arrival);
  void on_deadline(Instant now);
  void on_resume(Instant now, Duration away) { lanes_.on_resume(now, away); }
  bool pump();
  bool transmit(Instant now);
  void redeliver() {
    if (carrier_.holds() || ear_.refused()) carrier_.redeliver();
  }
  void set_open(p2p::Carrier::Door door) { carrier_.set_open(door); }
  std::vector<p2p::PeerId> take_lost() { return carrier_.take_lost(); }
  void forget(HostId peer) { registry_.forget(peer); }

  std::optional<Instant> next_deadline() const {
    if (carrier_.has_calls()) return Instant{};
    return lanes_.next_deadline();
  }
  bool is_flushed() const noexcept { return lanes_.is_flushed(); }
  const rel::Lanes& lanes() const noexcept { return lanes_; }
  std::uint64_t taken() const noexcept { return ear_.taken(); }
  std::uint64_t refused() const noexcept { return refused_; }  // datagrams that are no lane's
  std::uint64_t most_buffered() const noexcept { return most_buffered_; }
  std::uint64_t parts() const noexcept { return parts_; }  // calls of ours over lanes of parts
  std::string state() const;
  std::string leaks() const;  // lanes and groups that nobody will close; empty: none

 private:
  struct Kept {  // a lane of those concerned, for several calls
    std::uint32_t whole;
    std::vector<p2p::PeerId> members;
    rel::LaneId lane;
  };
  void choose_lane(std::uint32_t collective, Collective& run);
  bool settle();  // collectives that are done
  GroupId group_of(rel::LaneId lane) const;
  Net& net_;
  const Script& script_;
  const HostId me_;
  const std::uint64_t seed_;
  p2p::Core& core_;
  Prng chance_, lanes_chance_;
  p2p::LaneCarrier carrier_;
  MoodyEar ear_;
  rel::Lanes lanes_;
  const LaneAddresses addresses_;
  NetGroups groups_;
  p2p::LaneRegistry registry_;
  p2p::FusedOps fused_ops_;
  std::vector<std::uint32_t> fused_counts_;  // by the script's lanes, so far
  rel::TxBatch batch_;
  std::vector<rel::LaneId> ids_;            // of the script's lanes; -1: not open
  std::vector<std::uint32_t> script_lane_;  // by LaneId
  std::vector<std::unique_ptr<Collective>> runs_;
  std::vector<std::uint32_t> under_way_;
  std::vector<Kept> kept_;
  std::map<std::uint32_t, rel::LaneId> own_;  // by collective: lanes made for it
  std::uint64_t refused_ = 0, most_buffered_ = 0, parts_ = 0;
};

}  // namespace herald::sim
