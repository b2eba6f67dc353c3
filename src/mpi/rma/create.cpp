// SPDX-License-Identifier: BSD-3-Clause
// Making and freeing windows, and the memory of those that MPI allocates.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "calls.hpp"
#include "mpi/coll/internal.hpp"
#include "mpi/comm/comm.hpp"
#include "mpi/core/attr.hpp"
#include "mpi/core/errors.hpp"
#include "mpi/core/info.hpp"
#include "mpi/core/tables.hpp"
#include "mpi/rma/hints.hpp"
#include "mpi/rma/window.hpp"

namespace herald::mpi {
namespace {

constexpr std::size_t kAlignment = 64, kPage = 4096;
constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 60;

// Each rank sends this to the others first.
struct Entry {
  std::uint64_t context, base, size;
  std::int64_t disp_unit;
  std::int32_t host, noncontiguous;
};

// The first rank of a host tells the others where the segment is, or why there is none.
struct SegmentEntry {
  std::int32_t made;
  char text[252];
};

struct WinSpec {
  int flavor;
  void* base;
  MPI_Aint size;
  MPI_Count disp_unit;
  const Info* info;
};

class WindowMaker {
 public:
  WindowMaker(Call& call, Comm& comm, const WinSpec& spec) noexcept
      : call_(call), comm_(comm), spec_(spec), entries_(static_cast<std::size_t>(comm.size)) {}

  // Collective. Null: the call has failed.
  Win* make() noexcept {
    if (!exchange()) return nullptr;
    win_ = tables().wins.create();
    win_->flavor = spec_.flavor;
    win_->disp_unit = static_cast<int>(spec_.disp_unit);
    win_->size = spec_.flavor == MPI_WIN_FLAVOR_DYNAMIC ? 0 : spec_.size;
    win_->errhandler = initial_errhandler();
    retain(win_->errhandler);
    if (spec_.info != nullptr) take_hints(*win_, *spec_.info);
    retain(comm_.group);
    win_->comm = make_hidden_comm(comm_.group, entries_[0].context, comm_.errhandler, comm_.session);
    win_->state = std::make_shared<WinState>(rma_endpoint(), entries_[0].context, *win_->comm);
    if (!make_segment() || !provide_memory() || !agree()) {
      tables().wins.destroy(win_);
      return nullptr;
    }
    set_routes();
    const std::string* const no_locks = info_value(win_->info, "no_locks");
    if (no_locks != nullptr && *no_locks == "true") state().epochs.forbid_locks();
    if (!state().all_mapped) state().offer.make(call_);
    return win_;
  }

 private:
  WinState& state() noexcept { return *win_->state; }
  const Entry& entry(int rank) const noexcept { return entries_[static_cast<std::size_t>(rank)]; }
  bool allocates() const noexcept {
    return spec_.flavor == MPI_WIN_FLAVOR_ALLOCATE || spec_.flavor == MPI_WIN_FLAVOR_SHARED;
  }

  bool fail_exchange(int error) noexcept {
    if (error != MPI_SUCCESS) (void)call_.fail(error, "the ranks could not agree on a new window");
    return error == MPI_SUCCESS;
  }

  bool exchange() noexcept {
    const std::string* noncontiguous =
        spec_.info == nullptr ? nullptr : info_value(*spec_.info, "alloc_shared_noncontig");
    const Entry mine{comm_.rank == 0 ? propose_context() : 0,
                     reinterpret_cast<std::uintptr_t>(spec_.base),
                     static_cast<std::uint64_t>(spec_.size),
                     spec_.disp_unit,
                     engine::job_hosts_of(runtime().engine()).number(comm_.group->peers, comm_.rank),
                     noncontiguous != nullptr && *noncontiguous == "true" ? 1 : 0};
    if (!fail_exchange(allgather_bytes(comm_, &mine, entries_.data(), sizeof mine))) return false;
    for (int rank = 0; rank < comm_.size; ++rank) {
      single_host_ = single_host_ && entry(rank).host == mine.host;
      if (entry(rank).host != mine.host) continue;
      if (rank == comm_.rank) place_ = static_cast<int>(on_host_.size());
      on_host_.push_back(rank);
    }
    if (spec_.flavor != MPI_WIN_FLAVOR_SHARED || single_host_) return true;
    (void)call_.fail(MPI_ERR_RMA_SHARED,
                     "argument 4 (comm): its ranks are on several hosts; split it by MPI_COMM_TYPE_SHARED");
    return false;
  }

  // Where the data of each rank on this host begins, and how many bytes there are in all.
  std::uint64_t lay_out() noexcept {
    std::uint64_t at = 0;
    bool contiguous = spec_.flavor == MPI_WIN_FLAVOR_SHARED;
    for (const int rank : on_host_) contiguous = contiguous && entry(rank).noncontiguous == 0;
    for (const int rank : on_host_) {
      starts_.push_back(at);
      const std::uint64_t size = allocates() ? entry(rank).size : 0;
      at = size > kMostBytes - at ? kMostBytes : at + size;  // more than any file system has
      if (!contiguous) at = (at + kPage - 1) / kPage * kPage;
    }
    return at;
  }

  // Every host with several ranks has a segment if MPI allocates the memory; else a single host has one, for
  // locks. The decision is the same at all ranks.
  bool make_segment() noexcept {
    if (comm_.size == 1 || (!allocates() && !single_host_)) return true;
    const std::uint64_t bytes = lay_out();
    const std::uint64_t nonce = entries_[0].context;
    SegmentEntry mine{};
    std::string why;
    if (place_ == 0 && on_host_.size() > 1) {
      const std::string path = runtime().engine().memory().new_shm_path();
      mine.made = state().segment.create(path, static_cast<int>(on_host_.size()), bytes, nonce, why) ? 1 : 0;
      std::snprintf(mine.text, sizeof mine.text, "%s", mine.made != 0 ? path.c_str() : why.c_str());
    }
    std::vector<SegmentEntry> all(static_cast<std::size_t>(comm_.size));
    if (!fail_exchange(allgather_bytes(*win_->comm, &mine, all.data(), sizeof mine))) return false;
    if (on_host_.size() == 1) return true;
    const SegmentEntry& first = all[static_cast<std::size_t>(on_host_[0])];
    const bool has_one =
        first.made != 0 &&
        (place_ == 0 || state().segment.attach(first.text, static_cast<int>(on_host_.size()), bytes, nonce));
    if (has_one)
      state().segment.words(place_).pid = ::getpid();
    else
      why_not_ = first.made != 0 ? "it cannot be mapped" : first.text;
    return true;
  }

  bool provide_memory() noexcept {
    win_->base = spec_.base;
    if (!allocates()) return true;
    if (state().segment.is_open()) {
      win_->base = state().segment.data() + starts_[static_cast<std::size_t>(place_)];
    } else if (spec_.size > 0) {
      const std::size_t bytes =
          (static_cast<std::size_t>(spec_.size) + kAlignment - 1) / kAlignment * kAlignment;
      void* memory = std::aligned_alloc(kAlignment, bytes);
      state().memory.reset(memory);
      if (memory != nullptr) std::memset(memory, 0, bytes);
      win_->base = memory;
    }
    return true;
  }

  // After this no rank can miss an operation, since all have registered the window.
  bool agree() noexcept {
    struct Result {
      std::uint64_t base;
      std::int32_t attached, has_memory;
    };
    WinState& s = state();
    if (spec_.flavor == MPI_WIN_FLAVOR_DYNAMIC)
      s.window.target.memory().set_dynamic();
    else
      s.window.target.memory().set(win_->base, static_cast<std::uint64_t>(spec_.size));
    const Result mine{reinterpret_cast<std::uintptr_t>(win_->base), s.segment.is_open() ? 1 : 0,
                      !allocates() || spec_.size == 0 || win_->base != nullptr ? 1 : 0};
    std::vector<Result> all(static_cast<std::size_t>(comm_.size));
    if (!fail_exchange(allgather_bytes(*win_->comm, &mine, all.data(), sizeof mine))) return false;
    s.segment.unlink();
    bool attached = s.segment.is_open();
    for (const int rank : on_host_) attached = attached && all[static_cast<std::size_t>(rank)].attached != 0;
    bool complete = true;
    for (int rank = 0; rank < comm_.size; ++rank) {
      const Result& result = all[static_cast<std::size_t>(rank)];
      entries_[static_cast<std::size_t>(rank)].base = result.base;
      complete = complete && result.has_memory != 0;
      if (spec_.flavor == MPI_WIN_FLAVOR_SHARED && comm_.size > 1)
        complete = complete && result.attached != 0;
    }
    use_segment_ = attached;
    if (!complete)
      (void)call_.fail(MPI_ERR_NO_MEM, "there is no memory for the window at every rank%s%s",
                       why_not_.empty() ? "" : ": ", why_not_.c_str());
    return complete;
  }

  void set_routes() noexcept {
    WinState& s = state();
    engine::Engine& engine = runtime().engine();
    s.dynamic = spec_.flavor == MPI_WIN_FLAVOR_DYNAMIC;
    s.place = use_segment_ ? place_ : -1;
    s.word_locks = use_segment_ && single_host_;
    s.all_mapped = comm_.size == 1 || (s.word_locks && allocates());
    for (int rank = 0; rank < comm_.size; ++rank) {
      WinMember& member = s.member(rank);
      member.peer = comm_.group->peers[static_cast<std::size_t>(rank)];
      member.base = reinterpret_cast<std::byte*>(static_cast<std::uintptr_t>(entry(rank).base));
      member.size = s.dynamic ? 0 : entry(rank).size;
      member.disp_unit = s.dynamic ? 1 : entry(rank).disp_unit;
      if (rank == comm_.rank)
        member.route = Route::own;
      else if (!s.dynamic && engine.peers().is_local(member.peer) &&
               engine.memory().mover_to(member.peer) != nullptr)
        member.route = Route::copied;
    }
    if (use_segment_)
      for (std::size_t place = 0; place < on_host_.size(); ++place) set_mapped(static_cast<int>(place));
    if (list_has(runtime().knobs().check, "rma")) check_conflicts();
    for (WinMember& member : s.members)
      member.is_plain =
          !s.dynamic && !s.checks && (member.route == Route::own || member.route == Route::mapped);
  }

  void check_conflicts() noexcept {
    WinState& s = state();
    s.checks = true;
    s.all_mapped = false;
    s.window.target.check_conflicts();
    for (WinMember& member : s.members)
      if (member.route != Route::own) member.route = Route::service;
  }

  void set_mapped(int place) noexcept {
    WinState& s = state();
    WinMember& member = s.member(on_host_[static_cast<std::size_t>(place)]);
    member.place = place;
    if (!allocates()) return;
    member.base = s.segment.data() + starts_[static_cast<std::size_t>(place)];
    member.is_mapped = true;
    if (member.route != Route::own) member.route = Route::mapped;
    member.guard_context = {&s.segment, place, place_};
    member.guard = {[](void* context) {
                      auto& guard = *static_cast<WinMember::GuardContext*>(context);
                      guard.segment->lock_guard(guard.of, guard.place);
                    },
                    [](void* context) {
                      auto& guard = *static_cast<WinMember::GuardContext*>(context);
                      guard.segment->unlock_guard(guard.of);
                    },
                    &member.guard_context};
    if (place == place_) s.window.target.set_guard(member.guard);
  }

  Call& call_;
  Comm& comm_;
  const WinSpec& spec_;
  std::vector<Entry> entries_;
  std::vector<int> on_host_;           // ranks on this host
  std::vector<std::uint64_t> starts_;  // by place
  int place_ = 0;
  bool single_host_ = true, use_segment_ = false;
  std::string why_not_;
  Win* win_ = nullptr;
};

int make_window(Call& call, Comm* comm, const WinSpec& spec, void* baseptr, MPI_Win* win) noexcept {
  if (comm->remote != nullptr)
    return call.fail(MPI_ERR_COMM, "the communicator is an inter-communicator; give an intra-communicator");
  if (spec.size < 0)
    return call.fail(MPI_ERR_SIZE, "argument %d (size) is %lld; it must not be negative",
                     baseptr == nullptr ? 2 : 1, static_cast<long long>(spec.size));
  if (spec.disp_unit <= 0)
    return call.fail(MPI_ERR_DISP, "argument %d (disp_unit) is %lld; it must be positive",
                     baseptr == nullptr ? 3 : 2, static_cast<long long>(spec.disp_unit));
  Win* made = WindowMaker(call, *comm, spec).make();
  if (made == nullptr) return call.error();
  if (baseptr != nullptr) *static_cast<void**>(baseptr) = made->base;
  *win = handle_of(made);
  return MPI_SUCCESS;
}

}  // namespace

namespace api {

int win_create(Call& call, void* base, MPI_Aint size, MPI_Count disp_unit, Info* info, Comm* comm,
               MPI_Win* win) {
  if (base == nullptr && size > 0)
    return call.fail(MPI_ERR_BASE, "argument 1 (base) is a null pointer, but argument 2 (size) is %lld",
                     static_cast<long long>(size));
  return make_window(call, comm, {MPI_WIN_FLAVOR_CREATE, base, size, disp_unit, info}, nullptr, win);
}

int win_allocate(Call& call, MPI_Aint size, MPI_Count disp_unit, Info* info, Comm* comm, void* baseptr,
                 MPI_Win* win) {
  return make_window(call, comm, {MPI_WIN_FLAVOR_ALLOCATE, nullptr, size, disp_unit, info}, baseptr, win);
}

int win_allocate_shared(Call& call, MPI_Aint size, MPI_Count disp_unit, Info* info, Comm* comm, void* baseptr,
                        MPI_Win* win) {
  return make_window(call, comm, {MPI_WIN_FLAVOR_SHARED, nullptr, size, disp_unit, info}, baseptr, win);
}

int win_create_dynamic(Call& call, Info* info, Comm* comm, MPI_Win* win) {
  return make_window(call, comm, {MPI_WIN_FLAVOR_DYNAMIC, nullptr, 0, 1, info}, nullptr, win);
}

int win_free(Call& call, MPI_Win* handle) {
  Win* win = call.object(*handle, {1, "win"});
  if (win == nullptr) return call.error();
  WinState& state = state_of(*win);
  if (const char* reason = state.epochs.free()) return refuse(call, reason);
  if (const int error = delete_attributes(call, store_of(*win)); error != MPI_SUCCESS) return error;
  int error = MPI_SUCCESS;
  for (int target = 0; target < state.size(); ++target) {
    const int result = flush_local(call, state, target);
    if (error == MPI_SUCCESS) error = result;
    wait_until([&] { return state.window.origin.is_locally_complete(target); });
  }
  if (error == MPI_SUCCESS) error = barrier(*win->comm);
  if (error != MPI_SUCCESS) (void)fail_collective(call, state, error);
  call.blame(static_cast<Comm*>(nullptr));  // the handler of the window goes with it
  tables().wins.destroy(win);
  *handle = MPI_WIN_NULL;
  return error;
}

int win_attach(Call& call, Win* win, void* base, MPI_Aint size) {
  WinState& state = state_of(*win);
  if (!state.dynamic)
    return call.fail(MPI_ERR_RMA_FLAVOR, "argument 1 (win) was not made by MPI_Win_create_dynamic");
  if (size < 0)
    return call.fail(MPI_ERR_SIZE, "argument 3 (size) is %lld; it must not be negative",
                     static_cast<long long>(size));
  if (base == nullptr && size > 0)
    return call.fail(MPI_ERR_BASE, "argument 2 (base) is a null pointer, but argument 3 (size) is not 0");
  if (state.window.target.memory().attach(base, static_cast<std::uint64_t>(size))) return MPI_SUCCESS;
  return call.fail(MPI_ERR_RMA_ATTACH, "argument 2 (base): the memory overlaps memory that is attached");
}

int win_detach(Call& call, Win* win, const void* base) {
  WinState& state = state_of(*win);
  if (!state.dynamic)
    return call.fail(MPI_ERR_RMA_FLAVOR, "argument 1 (win) was not made by MPI_Win_create_dynamic");
  if (state.window.target.memory().detach(base)) return MPI_SUCCESS;
  return call.fail(MPI_ERR_BASE, "argument 2 (base): no memory that begins there is attached");
}

int win_shared_query(Call& call, Win* win, int rank, MPI_Aint* size, MPI_Count* disp_unit, void* baseptr) {
  WinState& state = state_of(*win);
  if (state.dynamic)
    return call.fail(MPI_ERR_RMA_FLAVOR, "argument 1 (win) is a dynamic window, which has no fixed memory");
  const auto reachable = [&](int target) {
    return state.member(target).route == Route::own || state.member(target).is_mapped;
  };
  if (rank == MPI_PROC_NULL)  // the first rank with memory, also where that is not shared with this process
    for (rank = 0; rank < state.size() - 1 && state.member(rank).size == 0;) ++rank;
  const WinMember& member = state.member(rank);
  *size = reachable(rank) ? static_cast<MPI_Aint>(member.size) : 0;
  *disp_unit = member.disp_unit;
  *static_cast<void**>(baseptr) = *size != 0 ? member.base : nullptr;
  return MPI_SUCCESS;
}

}  // namespace api
}  // namespace herald::mpi
