// SPDX-License-Identifier: BSD-3-Clause
// mpi/coll_run.hpp: runs plans: joins coll::Run to the engine.
// Completed sends and receives advance the run (Op::on_done), so it moves in whatever call makes progress;
// copies and reductions are done on the spot. One block of memory a run: this object, the run's words, the
// operations and the scratch memory. It rests with its plan between runs.
#pragma once
#include <new>
#include <string>

#include "coll/cache.hpp"
#include "coll/run.hpp"
#include "mpi/coll_shared.hpp"
#include "mpi/objects.hpp"
#include "mpi/request.hpp"

namespace herald::mpi {

// What this process has run, on all communicators.
struct CollCounters {
  std::uint64_t runs = 0;
  std::uint64_t shared_runs = 0;  // with steps in shared memory
};
inline CollCounters coll_counters;

class Execution final : public Work {
 public:
  // What differs from run to run of the same plan.
  struct Binding {
    const void* send = nullptr;
    void* recv = nullptr;
    Op* op = nullptr;              // reductions; a count is held while bound
    Datatype* datatype = nullptr;  // as above
    bool persistent = false;       // matched by the order of the init calls
    coll::Form form = coll::Form::internal;
    int agreement = -1;  // not counted: matched by this number
  };

  // Takes over the caller's count of `cached`. Null if there is no memory (the count is then let go).
  static Execution* make(Comm& comm, coll::CachedPlan* cached, const Binding& binding) noexcept;
  // Back to rest, or gone. Not while it runs.
  static void recycle(Execution* execution) noexcept;
  static void operator delete(Execution* execution, std::destroying_delete_t) noexcept { recycle(execution); }

  void start(Request& request) noexcept override;
  void look_out() noexcept override;
  const char* reason() const noexcept override { return reason_.empty() ? nullptr : reason_.c_str(); }
  // Runs to the end, turning the engine. Returns an error class.
  int run() noexcept;

  // Runs to the end by itself, in turns of the engine, without a request.
  void launch() noexcept { begin(); }
  bool is_done() const noexcept { return done_; }
  int error() const noexcept { return error_; }

  // Called when the run is over, before the request becomes ready; gives an error class.
  void call_then(int (*then)(void*), void* argument) noexcept {
    then_ = then;
    argument_ = argument;
  }

 private:
  struct Slot;
  struct Waiting {
    coll::StepId id;
    std::uint64_t progress;
  };
  explicit Execution(coll::CachedPlan* cached, std::size_t block_bytes) noexcept
      : cached_(cached), block_bytes_(block_bytes) {}
  ~Execution() override = default;
  static void destroy(void* execution) noexcept;
  static void on_done(p2p::Op& op) noexcept;

  void begin() noexcept;
  void advance() noexcept;
  void perform(coll::StepId id) noexcept;
  void write_facts(const Binding& binding) noexcept;  // coll_check.cpp, as the next
  bool check_facts(const coll::Step& step) noexcept;
  // Tries the steps that wait for other ranks. True if one was done; this object may then be gone.
  bool poll(bool look_for_lost) noexcept;
  void poll_a_while() noexcept;
  void poll_and_yield() noexcept;
  static bool poll_all(void*) noexcept;
  void enlist() noexcept;
  void delist() noexcept;
  void choose_lane() noexcept;
  void post(const coll::Step& step, coll::StepId id) noexcept;
  void fused(const coll::Step& step, coll::StepId id) noexcept;
  void finish() noexcept;
  void clear_slots() noexcept;
  void note(int error) noexcept {
    if (error_ == MPI_SUCCESS) error_ = error;
  }

  coll::CachedPlan* cached_;
  std::size_t block_bytes_;
  Comm* comm_ = nullptr;
  Request* request_ = nullptr;
  Op* op_ = nullptr;
  Datatype* datatype_ = nullptr;
  int (*then_)(void*) = nullptr;
  void* argument_ = nullptr;
  coll::Run run_;
  coll::Places places_;
  std::uint32_t* words_ = nullptr;
  Slot* slots_ = nullptr;
  std::string reason_;
  SharedChannel* channel_ = nullptr;  // null: the plan has no shared-memory steps
  std::uint64_t number_ = 0;          // of this run, in the channel
  Waiting* waiting_ = nullptr;        // shared-memory steps that could not be done yet
  std::uint32_t waiting_count_ = 0;
  std::int32_t tag_ = 0;
  std::uint32_t persistent_id_ = 0;
  std::uint32_t fused_ = 0;  // its number
  int agreement_ = -1;
  std::int32_t deals_by_ = -1;  // bundled sends go over this lane; -1: as single messages
  std::int32_t bundles_ = -1;   // messages wait to go over this lane together
  int error_ = MPI_SUCCESS;
  bool persistent_ = false;
  bool own_lane_ = false;  // deals_by_ was made for this run, and goes with it
  bool advancing_ = false;
  bool spinning_ = false;  // run() or look_out() itself looks after the waiting steps
  bool listed_ = false;    // the engine's turns do
  bool done_ = true;
};

// The tag of the messages of a communicator's collective, by how many came before it: its last byte is for
// those within the collective.
constexpr std::uint32_t kTagCounts = (1u << 22) - 1;
constexpr std::int32_t tag_of_run(std::uint64_t number) noexcept {
  return static_cast<std::int32_t>((static_cast<std::uint32_t>(number) & kTagCounts) << 8);
}

// Runs a plan that is brief (coll/plan.hpp) to its end: step by step, with nothing around it.
int run_inline(Comm& comm, const coll::Plan& plan, const Execution::Binding& binding) noexcept;
// A step of a fused exchange as the engine wants it.
void fill_fused(p2p::FusedOp& op, const Comm& comm, const coll::Step& step, const coll::Places& places,
                std::uint32_t number) noexcept;

// Finds or makes the plan of a call. `more`: layouts that the key names besides those of the two sides.
coll::CachedPlan* find_plan(Comm& comm, const coll::CollSpec& ask, const coll::Key& key,
                            std::span<const type::Layout* const> more) noexcept;
// The words with which every key begins; the key has them already.
constexpr std::size_t kKeyHead = 7;
void write_key_head(coll::Key& key, const coll::CollSpec& ask) noexcept;

}  // namespace herald::mpi
