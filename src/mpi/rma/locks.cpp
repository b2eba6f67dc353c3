// SPDX-License-Identifier: BSD-3-Clause
// Passive target: locks, flushes, MPI_Win_sync.
// Where all ranks of a window share a segment, a lock is a word in it; else the target keeps a queue. A
// request for a lock in a queue is not waited for until memory is accessed without the target.
#include <atomic>
#include <utility>

#include "calls.hpp"
#include "mpi/rma/window.hpp"

namespace herald::mpi {
namespace {

int fail_gone(Call& call, const WinState& state, int member) noexcept {
  const p2p::PeerId peer = state.members[static_cast<std::size_t>(member)].peer;
  return call.fail(MPI_ERR_PROC_ABORTED,
                   "rank %d of the window, on host %s, has ended and may have held a lock", member,
                   runtime().engine().peers().host_of(peer).c_str());
}

// Waits for a lock. Any rank that has gone may have held it.
template <class Done>
int await_lock(Call& call, const WinState& state, Done done) noexcept {
  wait_until([&] { return done() || gone_member(state) >= 0; });
  return done() ? MPI_SUCCESS : fail_gone(call, state, gone_member(state));
}

// A rank that sleeps tries again when the holder rings, in the hook.
struct WordWait {
  path::WindowWords& words;
  int place;
  bool exclusive;
  bool held = false;
  static bool attempt(void* self) noexcept {
    auto& wait = *static_cast<WordWait*>(self);
    if (!wait.held) wait.held = wait.words.try_lock(wait.place, wait.exclusive);
    return wait.held;
  }
};

int acquire_word(Call& call, WinState& state, int target, bool exclusive) noexcept {
  path::WindowWords& words = state.segment.words(state.member(target).place);
  WordWait wait{words, state.place, exclusive};
  if (WordWait::attempt(&wait)) return MPI_SUCCESS;
  words.waiting.fetch_add(1, std::memory_order_seq_cst);
  engine::Engine& engine = runtime().engine();
  engine.hooks().add(WordWait::attempt, &wait);
  const int error = await_lock(call, state, [&] { return wait.held || WordWait::attempt(&wait); });
  engine.hooks().remove(WordWait::attempt, &wait);
  words.waiting.fetch_sub(1, std::memory_order_seq_cst);
  return error;
}

void release_word(WinState& state, int target) noexcept {
  if (!state.segment.words(state.member(target).place).unlock()) return;
  for (const WinMember& member : state.members)
    if (member.route != Route::own) runtime().engine().peers().ring(member.peer);
}

// Whether a flush must be sent: a reply is one too, but does not end an epoch that HERALD_CHECK=rma compares.
bool must_flush(WinState& state, int target) noexcept {
  return state.window.origin.needs_flush(target) || (state.checks && target != state.rank);
}

// Begins to release the lock of `target`; end_unlock() waits for it.
int begin_unlock(Call& call, WinState& state, int target) noexcept {
  WinMember& member = state.member(target);
  rma::Origin& origin = state.window.origin;
  switch (member.held) {
    case Held::no: return MPI_SUCCESS;
    case Held::unchecked:
    case Held::word:
      if (must_flush(state, target)) origin.flush(target);
      return MPI_SUCCESS;
    case Held::queue: break;
  }
  if (member.route == Route::own) {
    state.window.target.release_own_lock();
    return MPI_SUCCESS;
  }
  if (const int error = await(call, state, target, [&] { return !origin.awaits_long_reply(target); });
      error != MPI_SUCCESS)
    return error;
  origin.unlock(target);
  return MPI_SUCCESS;
}

int fail_range(Call& call, int target) noexcept {
  return call.fail(MPI_ERR_RMA_RANGE,
                   "an operation on rank %d was outside the memory that this rank has attached", target);
}

int end_unlock(Call& call, WinState& state, int target) noexcept {
  rma::Origin& origin = state.window.origin;
  int error = await_grant(call, state, target);
  const Held held = std::exchange(state.member(target).held, Held::no);
  if (error == MPI_SUCCESS)
    error = await(call, state, target,
                  [&] { return origin.is_flushed(target) && origin.is_locally_complete(target); });
  if (held == Held::word) release_word(state, target);
  if (error == MPI_SUCCESS && origin.take_failure(target)) return fail_range(call, target);
  if (state.checks && target == state.rank) state.window.target.conflicts()->end(target);
  return error == MPI_SUCCESS ? fail_conflict(call, state) : error;
}

int check_assert(Call& call, int assertion, Arg arg) noexcept {
  if ((assertion & ~MPI_MODE_NOCHECK) == 0) return MPI_SUCCESS;
  return call.fail(MPI_ERR_ASSERT, "argument %d (%s) is %d; only MPI_MODE_NOCHECK is allowed here",
                   arg.number, arg.name, assertion);
}

}  // namespace

int acquire(Call& call, WinState& state, int target, bool exclusive, bool unchecked) noexcept {
  WinMember& member = state.member(target);
  int error = MPI_SUCCESS;
  if (unchecked) {
    member.held = Held::unchecked;
    return MPI_SUCCESS;
  }
  if (state.word_locks) {
    error = acquire_word(call, state, target, exclusive);
    if (error == MPI_SUCCESS) member.held = Held::word;
    return error;
  }
  rma::Target& own = state.window.target;
  if (member.route == Route::own) {
    if (!own.request_own_lock(exclusive))
      error = await_lock(call, state, [&] { return own.holds_own_lock(); });
    if (error != MPI_SUCCESS) own.release_own_lock();
  } else {
    state.window.origin.lock(target, exclusive);
    runtime().engine().messages().send_posted();
  }
  if (error == MPI_SUCCESS) member.held = Held::queue;
  // The program may load and store in memory that is mapped as soon as the call returns.
  if (error == MPI_SUCCESS && member.is_mapped && member.route != Route::own)
    error = await_grant(call, state, target);
  return error;
}

int await_grant(Call& call, WinState& state, int target) noexcept {
  const WinMember& member = state.member(target);
  if (member.held != Held::queue || member.route == Route::own || state.window.origin.is_granted(target))
    return MPI_SUCCESS;
  runtime().engine().messages().send_posted();
  return await_lock(call, state, [&] { return state.window.origin.is_granted(target); });
}

int prepare_access(Call& call, WinState& state, int target, Arg arg) noexcept {
  if (const char* reason = state.epochs.use(target)) return refuse(call, reason, arg, target);
  if (!state.epochs.is_lock_all() || state.member(target).held != Held::no) return MPI_SUCCESS;
  return acquire(call, state, target, false, false);
}

int flush_local(Call& call, WinState& state, int target) noexcept {
  return await(call, state, target, [&] { return state.window.origin.is_locally_complete(target); });
}

int flush_target(Call& call, WinState& state, int target) noexcept {
  const Route route = state.member(target).route;
  if ((route == Route::mapped || route == Route::own) && !state.checks) {  // operations are complete at once
    std::atomic_thread_fence(std::memory_order_acq_rel);
    if (std::exchange(state.has_stores, false)) std::atomic_thread_fence(std::memory_order_seq_cst);
    turn_now_and_then();
    return MPI_SUCCESS;
  }
  rma::Origin& origin = state.window.origin;
  if (must_flush(state, target)) origin.flush(target);
  if (const int error = await_grant(call, state, target); error != MPI_SUCCESS) return error;
  const int error = await(call, state, target,
                          [&] { return origin.is_flushed(target) && origin.is_locally_complete(target); });
  if (error == MPI_SUCCESS && origin.take_failure(target)) return fail_range(call, target);
  if (state.checks && target == state.rank) state.window.target.conflicts()->end(target);
  return error == MPI_SUCCESS ? fail_conflict(call, state) : error;
}

int flush_in_epoch(Call& call, WinState& state, int target) noexcept {
  rma::Origin& origin = state.window.origin;
  if (origin.needs_flush(target)) origin.flush(target, true);
  return await(call, state, target,
               [&] { return origin.is_flushed(target) && origin.is_locally_complete(target); });
}

namespace api {

int win_lock(Call& call, int lock_type, int rank, int assertion, Win* win) {
  if (lock_type != MPI_LOCK_EXCLUSIVE && lock_type != MPI_LOCK_SHARED)
    return call.fail(MPI_ERR_LOCKTYPE,
                     "argument 1 (lock_type) is %d; use MPI_LOCK_EXCLUSIVE or MPI_LOCK_SHARED", lock_type);
  if (check_assert(call, assertion, {3, "assert"}) != MPI_SUCCESS) return call.error();
  if (rank == MPI_PROC_NULL) return MPI_SUCCESS;
  WinState& state = state_of(*win);
  if (const char* reason = state.epochs.lock(rank)) return refuse(call, reason, {2, "rank"}, rank);
  const int error =
      acquire(call, state, rank, lock_type == MPI_LOCK_EXCLUSIVE, (assertion & MPI_MODE_NOCHECK) != 0);
  if (error != MPI_SUCCESS) (void)state.epochs.unlock(rank);
  return error;
}

int win_unlock(Call& call, int rank, Win* win) {
  if (rank == MPI_PROC_NULL) return MPI_SUCCESS;
  WinState& state = state_of(*win);
  if (const char* reason = state.epochs.unlock(rank)) return refuse(call, reason, {1, "rank"}, rank);
  const int error = begin_unlock(call, state, rank);
  const int end = end_unlock(call, state, rank);
  return error != MPI_SUCCESS ? error : end;
}

int win_lock_all(Call& call, int assertion, Win* win) {
  if (check_assert(call, assertion, {1, "assert"}) != MPI_SUCCESS) return call.error();
  WinState& state = state_of(*win);
  if (const char* reason = state.epochs.lock_all()) return refuse(call, reason);
  const bool unchecked = (assertion & MPI_MODE_NOCHECK) != 0;
  // Locks of ranks that are reached by their owner only are requested when they are first accessed.
  int error = MPI_SUCCESS;
  for (int target = 0; target < state.size() && error == MPI_SUCCESS; ++target) {
    const WinMember& member = state.member(target);
    if (unchecked || state.word_locks || member.route == Route::own || member.is_mapped)
      error = acquire(call, state, target, false, unchecked);
  }
  return error;
}

int win_unlock_all(Call& call, Win* win) {
  WinState& state = state_of(*win);
  if (const char* reason = state.epochs.unlock_all()) return refuse(call, reason);
  int error = MPI_SUCCESS;
  const auto keep = [&error](int result) { error = error == MPI_SUCCESS ? result : error; };
  std::vector<int> held;
  for (int target = 0; target < state.size(); ++target)
    if (state.member(target).held != Held::no) held.push_back(target);
  for (const int target : held) keep(begin_unlock(call, state, target));
  for (const int target : held) keep(end_unlock(call, state, target));
  return error;
}

int win_flush(Call& call, int rank, Win* win) {
  if (rank == MPI_PROC_NULL) return MPI_SUCCESS;
  WinState& state = state_of(*win);
  if (const char* reason = state.epochs.use_passive(rank)) return refuse(call, reason, {1, "rank"}, rank);
  return flush_target(call, state, rank);
}

int win_flush_local(Call& call, int rank, Win* win) {
  if (rank == MPI_PROC_NULL) return MPI_SUCCESS;
  WinState& state = state_of(*win);
  if (const char* reason = state.epochs.use_passive(rank)) return refuse(call, reason, {1, "rank"}, rank);
  return flush_local(call, state, rank);
}

int win_flush_all(Call& call, Win* win) {
  WinState& state = state_of(*win);
  if (const char* reason = state.epochs.use_passive_all()) return refuse(call, reason);
  for (int target = 0; target < state.size(); ++target)
    if (state.window.origin.needs_flush(target)) state.window.origin.flush(target);
  int error = MPI_SUCCESS;
  for (int target = 0; target < state.size() && error == MPI_SUCCESS; ++target)
    error = flush_target(call, state, target);
  return error;
}

int win_flush_local_all(Call& call, Win* win) {
  WinState& state = state_of(*win);
  if (const char* reason = state.epochs.use_passive_all()) return refuse(call, reason);
  int error = MPI_SUCCESS;
  for (int target = 0; target < state.size() && error == MPI_SUCCESS; ++target)
    error = flush_local(call, state, target);
  return error;
}

int win_sync(Call&, Win*) {
  std::atomic_thread_fence(std::memory_order_seq_cst);
  turn_now_and_then();
  return MPI_SUCCESS;
}

}  // namespace api
}  // namespace herald::mpi
