// SPDX-License-Identifier: BSD-3-Clause
// mpi/rma/window.hpp: what a window is in this process: how it reaches the memory of each rank, and its
// epochs.
//
// A rank's memory is reached in one of four ways: it is our own; it is mapped here (windows that MPI
// allocated, same host); the kernel copies (windows over memory of the program, same host); or by service
// calls. Updates (accumulates) of memory that is mapped by nobody else are made by its owner only.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "mpi/core/call.hpp"
#include "mpi/core/request.hpp"
#include "path/shm/window_segment.hpp"
#include "rma/endpoint.hpp"
#include "rma/epochs.hpp"

namespace herald::mpi {

enum class Route : std::uint8_t { own, mapped, copied, service };

// How this rank holds the lock of another.
enum class Held : std::uint8_t { no, word, queue, unchecked };

struct WinMember {
  p2p::PeerId peer = -1;
  Route route = Route::service;
  Held held = Held::no;
  int place = -1;             // in the segment; -1: not in it
  bool is_mapped = false;     // the program can load and store there
  bool is_plain = false;      // `own` or `mapped`, of fixed size, and accesses are not compared
  std::byte* base = nullptr;  // here, if `own` or `mapped`; else in that process
  std::uint64_t size = 0;
  std::int64_t disp_unit = 1;
  rma::Guard guard;  // around updates by this process
  struct GuardContext {
    path::WindowSegment* segment;
    int of, place;
  } guard_context{};
};

struct FreeMemory {
  void operator()(void* memory) const noexcept { std::free(memory); }
};

struct WinState {
  WinState(rma::Endpoint& process, std::uint64_t id, const Comm& comm) noexcept;
  ~WinState();
  WinState(const WinState&) = delete;
  WinState& operator=(const WinState&) = delete;

  int size() const noexcept { return static_cast<int>(members.size()); }
  WinMember& member(int target) noexcept { return members[static_cast<std::size_t>(target)]; }
  bool has_words() const noexcept { return word_locks; }

  rma::Endpoint& endpoint;
  rma::Window window;
  rma::Epochs epochs;
  std::vector<WinMember> members;
  path::WindowSegment segment;
  std::unique_ptr<void, FreeMemory> memory;  // allocated without a segment
  int rank = 0, place = -1;
  bool dynamic = false;
  bool word_locks = false;   // all ranks are in the segment: locks are words there
  bool all_mapped = false;   // all ranks map all memory: no operation is a service call
  bool checks = false;       // HERALD_CHECK=rma: all operations on others are service calls, and compared
  bool has_stores = false;   // to mapped memory, which a flush orders before later loads of this rank
  ServiceOffer offer;        // unless all is mapped
  std::vector<int> targets;  // of MPI_Win_start
  std::vector<int> origins;  // of MPI_Win_post
};

// The service calls of this process for windows; made on first use.
rma::Endpoint& rma_endpoint() noexcept;

inline WinState& state_of(Win& win) noexcept { return *win.state; }

// Fails `call` because an epoch does not allow it. `arg` with the rank that it is about, or number 0.
int refuse(Call& call, const char* reason, Arg arg = {0, ""}, int rank = -1) noexcept;
// Fails `call` because a collective among the ranks of the window did.
int fail_collective(Call& call, const WinState& state, int error) noexcept;
// HERALD_CHECK=rma: fails `call` if an operation of this rank conflicts with another one.
int fail_conflict(Call& call, WinState& state) noexcept;
// The first member that has gone; -1: none.
int gone_member(const WinState& state) noexcept;

// A program that polls memory by one-sided calls must not keep other ranks waiting: some calls take a turn.
inline void turn_now_and_then() noexcept {
  constexpr unsigned kCallsPerTurn = 256;  // some ten microseconds
  static unsigned calls = 0;               // under the engine's lock
  if (++calls % kCallsPerTurn == 0) [[unlikely]]
    (void)runtime().engine().progress();
}

// Waits for `done` or the end of that target; then fails `call` and abandons what waits for it.
template <class Done>
int await(Call& call, WinState& state, int target, Done done) noexcept {
  engine::Engine& engine = runtime().engine();
  const p2p::PeerId peer = state.member(target).peer;
  engine.messages().send_posted();
  turn_now_and_then();
  wait_until([&] { return done() || engine.peers().is_gone(peer); });
  if (done()) return MPI_SUCCESS;
  state.window.origin.abandon(target);
  return call.fail(MPI_ERR_PROC_ABORTED, "rank %d of the window, on host %s, has ended or cannot be reached",
                   target, engine.peers().host_of(peer).c_str());
}

// The lock of `target` (mpi/rma/locks.cpp): requested, and held before memory is accessed without its owner,
// and before a flush or an unlock returns. Fails if a rank has ended, which may have held it.
int acquire(Call& call, WinState& state, int target, bool exclusive, bool unchecked) noexcept;
int await_grant(Call& call, WinState& state, int target) noexcept;
// Before an operation: the epoch allows it, and with MPI_Win_lock_all the lock is requested.
int prepare_access(Call& call, WinState& state, int target, Arg arg) noexcept;
// Waits until all operations of this rank on `target` have taken effect there.
int flush_target(Call& call, WinState& state, int target) noexcept;
// HERALD_CHECK=rma: the same inside an epoch, which goes on; conflicts are known then.
int flush_in_epoch(Call& call, WinState& state, int target) noexcept;
int flush_local(Call& call, WinState& state, int target) noexcept;

}  // namespace herald::mpi
