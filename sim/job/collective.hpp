// SPDX-License-Identifier: BSD-3-Clause
// sim/job/collective.hpp: one collective at one process: a plan of coll/, run as the library runs it.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "coll/run.hpp"
#include "coll/table.hpp"
#include "p2p/core.hpp"
#include "sim/job/collective_data.hpp"
#include "sim/job/script.hpp"

namespace herald::sim {

class Collective {
 public:
  using StartFused = std::function<void(p2p::FusedOp&)>;
  // `place` among the members of `lane`; `lane_id` is this process's number for it.
  Collective(const Script& script, std::uint32_t index, std::int32_t place, std::int32_t lane_id,
             std::uint64_t seed, p2p::Core& core, StartFused start_fused);
  Collective(const Collective&) = delete;
  Collective& operator=(const Collective&) = delete;

  void start(Instant now);
  void note_time(Instant now) noexcept {
    if (run_.done() && done_at == Instant{}) done_at = now;
  }
  bool done() const noexcept { return run_.done(); }
  // Places of those for whom we have parts, if these go over a lane of their own; by which they go.
  const std::vector<int>& concerned() const noexcept { return plan_.members; }
  void deal_by(std::int32_t lane) noexcept { deals_by_ = lane; }
  bool fused_count() const noexcept { return plan_.has_fused; }
  void number_fused(std::uint32_t number) noexcept { fused_ = number; }
  Status status() const noexcept { return status_; }
  std::string awaited() const;  // members from whom something is still to come, and what is to go
  // The first error in the result; empty: none.
  std::string judge() const { return data_.judge(); }

  Instant started_at{}, done_at{};

 private:
  struct Slot {
    Collective* owner = nullptr;
    coll::StepId step = coll::kNone;
    std::unique_ptr<p2p::SendOp> send;
    std::unique_ptr<p2p::RecvOp> recv;
    std::unique_ptr<p2p::FusedOp> fused;
  };
  void advance();
  void perform(coll::StepId id);
  void post(const coll::Step& step, coll::StepId id);
  void fused(const coll::Step& step, coll::StepId id);
  static void on_done(p2p::Op& op);

  const CollSpec& spec_;
  const LaneSpec& lane_;
  const std::int32_t place_, lane_id_;
  std::int32_t deals_by_;  // -1: single messages
  p2p::Core& core_;
  const StartFused start_fused_;
  std::uint32_t fused_ = 0;
  CollectiveData data_;
  std::vector<std::byte> scratch_;
  coll::Plan plan_;
  coll::Run run_;
  coll::Places places_;
  std::vector<std::uint32_t> words_;
  std::vector<Slot> slots_;
  Status status_ = Status::ok;
  bool advancing_ = false;
};

// The ops of the scenario lane-rare.
bool is_rare(coll::Op op) noexcept;
// From one to several, over a lane.
bool is_deal(const coll::Algorithm& algorithm) noexcept;
bool is_fused(const coll::Algorithm& algorithm) noexcept;

}  // namespace herald::sim
