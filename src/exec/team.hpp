// SPDX-License-Identifier: BSD-3-Clause
// exec/team.hpp: the ranks that run plans together, as this rank sees them.
// Owns what their runs share: the counters that match runs between ranks, the lanes, the collective segment.
// The segment is made before the first persistent run, or before the third other one: teams that live
// briefly do without. Everything happens under the engine's lock.
#pragma once
#include <memory>
#include <span>
#include <vector>

#include "base/knobs.hpp"
#include "coll/cluster.hpp"
#include "coll/coll_spec.hpp"
#include "coll/shape.hpp"
#include "coll/table.hpp"
#include "engine/engine.hpp"
#include "exec/segment.hpp"
#include "exec/speed.hpp"

namespace herald::exec {

class Agreement;

struct Callback {
  void (*function)(void*) = nullptr;
  void* argument = nullptr;
  void operator()() const noexcept { function(argument); }
};

class Team {
 public:
  struct Identity {
    std::uint64_t context = 0;  // of all messages of its runs
    int rank = 0;
    std::span<const p2p::PeerId> peers;  // by rank; outlives the team
    std::uint64_t lane_name = 0;
  };
  Team(engine::Engine& engine, const Knobs& knobs, const Identity& identity) noexcept;
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  engine::Engine& engine() const noexcept { return engine_; }
  const Knobs& knobs() const noexcept { return knobs_; }
  std::uint64_t context() const noexcept { return identity_.context; }
  int rank() const noexcept { return identity_.rank; }
  int size() const noexcept { return static_cast<int>(identity_.peers.size()); }
  p2p::PeerId peer(int rank) const noexcept { return identity_.peers[static_cast<std::size_t>(rank)]; }

  // Names the communicator in timelines: groups of the same context have different first ranks.
  std::int64_t trace_id() const noexcept {
    return static_cast<std::int64_t>((identity_.context << 24 ^ static_cast<std::uint64_t>(peer(0))) >> 1);
  }

  // How many runs, persistent runners and fused exchanges this rank has begun: equal at all ranks.
  std::uint64_t run_count = 0;
  std::uint32_t persistent_count = 0, fused_count = 0;

  // Finds out which ranks share a host and opens the lane of the hosts' leaders, at the first call. Does not
  // wait for other ranks.
  const coll::Cluster& cluster() noexcept;
  // One send over this lane reaches all leaders; -1: there is none, or this rank is no leader.
  std::int32_t lane() const noexcept { return lane_; }
  // Bytes per second that our casts have reached; 0: not known.
  std::uint64_t proven_rate() const noexcept { return engine_.lanes().proven_rate(); }
  std::uint64_t uplink_rate() const noexcept { return engine_.lanes().uplink_rate(); }  // of our interfaces
  // The lane over which a plan sends to just its members; -1: single messages. `own`: the lane was opened for
  // this run, which closes it.
  std::int32_t lane_for(const std::vector<int>& members, bool persistent, bool& own) noexcept;

  // Opens the lane of these members before the first run that needs it; empty: the lane of the team.
  void prepare_lane(const std::vector<int>& members) noexcept;

  // Facts for the choice of an algorithm, and about the segment for a plan.
  coll::Shape shape_for(const coll::CollSpec& spec) noexcept;
  void describe_segment(coll::CollSpec& spec, bool persistent) const noexcept;
  // The specification of a call, with what `make_plan` needs to know of hosts and lanes.
  coll::CollSpec place(const coll::CollSpec& spec, const coll::Shape& shape) noexcept;

  // Measured parameters of the cluster that all ranks of the team have; null: there are none.
  const model::Parameters* measured() const noexcept;
  // The algorithm that an earlier trial found to be the fastest, in this job or one before; null: none did.
  const coll::Algorithm* tried_before(coll::Op op, std::uint64_t bytes) const noexcept;
  void note_tried(coll::Op op, std::uint64_t bytes, const coll::Algorithm& fastest) noexcept;

  // True if it is time to agree on a segment and the agreement has not begun.
  bool wants_segment(bool persistent) const noexcept {
    return !tried_ && size() > 1 && (persistent || run_count >= kSegmentAfter);
  }
  // Begins to agree with all ranks, in the background. At the end `settled` is called, then those that wait,
  // in their order, then `last`, which may destroy the team: maybe before this returns.
  void agree_on_segment(Callback settled, Callback last) noexcept;
  bool agreeing() const noexcept { return agreement_ != nullptr; }
  bool tried_segment() const noexcept { return tried_; }
  void call_when_agreed(Callback waiter) noexcept;
  void await_agreement() const noexcept;

  Segment segment;
  Speed speed;

 private:
  friend class Agreement;
  static constexpr std::uint64_t kSegmentAfter = 2;  // runs
  // A lane of some ranks, over which this one sends, for plans that come again.
  struct SubLane {
    std::vector<int> members;
    std::int32_t lane = -1;
    std::uint32_t runs = 0;
  };
  model::Tried kind_of(coll::Op op, std::uint64_t bytes) const;
  std::int32_t open_sub_lane(const std::vector<int>& members) const noexcept;
  std::int32_t find_sub_lane(const std::vector<int>& members, bool at_once) noexcept;

  engine::Engine& engine_;
  const Knobs& knobs_;
  Identity identity_;
  std::unique_ptr<coll::Cluster> cluster_;
  std::int32_t lane_ = -1;
  std::vector<SubLane> sub_lanes_;
  std::unique_ptr<Agreement> agreement_;
  bool tried_ = false;
};

}  // namespace herald::exec
