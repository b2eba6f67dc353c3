// SPDX-License-Identifier: BSD-3-Clause
// sim/job/lane_part.hpp: the lanes of a simulated process: p2p::LaneCarrier and rel::Lanes as the engine
// joins them, and the collectives that its script runs over them.
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "p2p/lane_carrier.hpp"
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
  std::uint64_t taken() const noexcept { return taken_; }
  bool refused() const noexcept { return refused_; }  // what was handed in last

 private:
  p2p::LaneCarrier& next_;
  Prng& chance_;
  double refuses_;
  bool refused_ = false;
  std::uint64_t taken_ = 0;
};

class LanePart {
 public:
  LanePart(Net& net, const Script& script, HostId me, std::uint64_t seed, const rel::LanesConfig& config,
           double refuses, p2p::Core& core);
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
  bool pump();
  bool transmit(Instant now);
  void redeliver() {
    if (carrier_.holds() || ear_.refused()) carrier_.redeliver();
  }
  void set_open(p2p::Carrier::Door door) { carrier_.set_open(door); }
  std::vector<p2p::PeerId> take_lost() { return carrier_.take_lost(); }
  void forget(HostId peer) { lanes_.forget_peer(peer); }

  std::optional<Instant> next_deadline() const { return lanes_.next_deadline(); }
  bool is_flushed() const noexcept { return lanes_.is_flushed(); }
  const rel::Lanes& lanes() const noexcept { return lanes_; }
  std::uint64_t taken() const noexcept { return ear_.taken(); }
  std::uint64_t refused() const noexcept { return refused_; }  // datagrams that are no lane's
  std::uint64_t most_buffered() const noexcept { return most_buffered_; }
  std::string state() const;

 private:
  Net& net_;
  const Script& script_;
  const HostId me_;
  const std::uint64_t seed_;
  p2p::Core& core_;
  Prng chance_, lanes_chance_;
  p2p::LaneCarrier carrier_;
  MoodyEar ear_;
  rel::Lanes lanes_;
  rel::TxBatch batch_;
  std::vector<rel::LaneId> ids_;            // of the script's lanes; -1: not open
  std::vector<std::uint32_t> script_lane_;  // by LaneId
  std::vector<std::unique_ptr<Collective>> runs_;
  std::vector<std::uint32_t> under_way_;
  std::uint64_t refused_ = 0, most_buffered_ = 0;
};

}  // namespace herald::sim
