// SPDX-License-Identifier: BSD-3-Clause
// exec/runner.hpp: runs a plan: joins coll::Run to the engine.
// In:  a team, a plan and a binding; completed operations; turns of the engine.
// Out: a callback at the end, with a status.
// Completed sends and receives advance the run (Op::on_done), in whatever call makes progress; copies and
// reductions are done on the spot. One block of memory holds this object, the words of coll::Run, the
// operations and the scratch buffer. The block is cached with its plan between runs.
#pragma once
#include <string>

#include "coll/cache.hpp"
#include "coll/run.hpp"
#include "exec/binding.hpp"
#include "exec/team.hpp"

namespace herald::exec {

// Of this process, over all teams.
struct Counters {
  std::uint64_t runs = 0;
  std::uint64_t shared_runs = 0;    // with shared-memory steps
  std::uint64_t prepared_runs = 0;  // of plans prepared before their first call
};
inline Counters counters;

class Runner {
 public:
  // Takes over the caller's count of `cached`. Null if there is no memory (the count is then released).
  static Runner* make(Team& team, coll::CachedPlan* cached, const Binding& binding) noexcept;
  // Caches it with its plan, or frees it. Not while it runs.
  static void recycle(Runner* runner) noexcept;
  Runner(const Runner&) = delete;
  Runner& operator=(const Runner&) = delete;

  // Blocks until the run ends.
  Status run() noexcept;
  // Begins a run. `then` is called at its end, now or later, and may recycle the runner, but not before this
  // returns.
  void start(Callback then) noexcept;
  // The caller waits for this run: polls the shared-memory steps for a moment before it takes turns of the
  // engine.
  void poll_briefly() noexcept;

  bool is_done() const noexcept { return done_; }
  Status status() const noexcept { return status_; }
  // How the ranks' calls differ, if the check at the beginning of the plan found that they do.
  const std::string& mismatch() const noexcept { return mismatch_; }

 private:
  friend void allocate_ahead(Team& team, coll::CachedPlan* cached) noexcept;
  struct Slot;
  struct WaitingStep {
    coll::StepId id;
    std::uint64_t progress;
  };
  // The parts of the block that follow this object.
  struct Block {
    std::size_t bytes = 0;
    Slot* slots = nullptr;
    std::uint32_t* words = nullptr;
    WaitingStep* waiting = nullptr;
  };
  Runner(coll::CachedPlan* cached, Team& team) noexcept : cached_(cached), team_(&team) {}
  ~Runner() = default;
  static Runner* allocate(coll::CachedPlan* cached, Team& team) noexcept;
  static void destroy(void* runner) noexcept;
  static void on_done(p2p::Op& op) noexcept;

  void begin() noexcept;
  std::uint32_t next_tag() noexcept;
  void advance() noexcept;
  void perform(coll::StepId id) noexcept;
  void start_message(const coll::Step& step, coll::StepId id) noexcept;
  void start_fused(const coll::Step& step, coll::StepId id) noexcept;
  Slot& take_slot(const coll::Step& step, coll::StepId id) noexcept;
  bool check(const coll::Step& step) noexcept;
  bool attempt(const coll::Step& step, std::uint64_t& progress) noexcept;
  void finish() noexcept;
  void note(Status status) noexcept {
    if (status_ == Status::ok) status_ = status;
  }
  // polling.cpp. `look_for_lost`: steps that wait for a rank that has gone fail. True if a step was done or a
  // stream moved on; this object may then be gone.
  bool poll(bool look_for_lost) noexcept;
  void poll_and_spin() noexcept;
  void poll_and_yield() noexcept;
  static bool poll_listed(void* engine) noexcept;
  void enlist() noexcept;
  void delist() noexcept;

  coll::CachedPlan* cached_;
  Team* team_;
  Block block_;
  Reduction reduction_;
  Matching matching_;
  Callback then_;
  coll::Run run_;
  coll::Places places_;
  std::string mismatch_;
  SharedChannel* channel_ = nullptr;  // null: the plan has no shared-memory steps
  std::uint64_t number_ = 0;          // of this run, in the channel
  std::uint32_t waiting_count_ = 0;   // shared-memory steps that could not be done yet
  std::uint32_t persistent_id_ = 0;
  std::uint32_t fused_number_ = 0;
  std::int32_t tag_ = 0;
  std::int32_t bundle_lane_ = -1;  // bundled sends go over this lane; -1: as single messages
  std::int32_t to_flush_ = -1;     // messages wait to leave over this lane together
  Status status_ = Status::ok;
  bool own_lane_ = false;  // bundle_lane_ was opened for this run
  bool blocking_ = false;
  bool advancing_ = false;
  bool polls_ = false;   // the caller itself polls the waiting steps
  bool listed_ = false;  // the turns of the engine do
  bool done_ = true;
};

// Allocates and touches the memory of the first run of a plan, if it is to be cached between runs.
void allocate_ahead(Team& team, coll::CachedPlan* cached) noexcept;

}  // namespace herald::exec
