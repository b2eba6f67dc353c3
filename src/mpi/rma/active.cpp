// SPDX-License-Identifier: BSD-3-Clause
// Active target: MPI_Win_fence, and post, start, complete, wait.
// A fence is an allreduce of how many operations each rank was sent, and every rank waits until so many have
// taken effect. A target keeps the operations of ranks that have left the fence before it. A barrier follows.
// Windows whose memory all ranks map need a barrier only.
#include <algorithm>
#include <utility>

#include "calls.hpp"
#include "mpi/coll/internal.hpp"
#include "mpi/rma/window.hpp"

namespace herald::mpi {
namespace {

int check_assert(Call& call, int assertion, int allowed) noexcept {
  if ((assertion & ~allowed) == 0) return MPI_SUCCESS;
  return call.fail(MPI_ERR_ASSERT, "the argument assert is %d, which has bits that this call does not define",
                   assertion);
}

int fail_gone(Call& call, WinState& state, int member) noexcept {
  return await(call, state, member, [] { return false; });
}

// Waits until what all ranks sent to this one has taken effect.
int await_operations(Call& call, Win& win) noexcept {
  WinState& state = state_of(win);
  rma::Origin& origin = state.window.origin;
  const auto await_each = [&](auto step) {
    int error = MPI_SUCCESS;
    for (int target = 0; target < state.size() && error == MPI_SUCCESS; ++target) error = step(target);
    return error;
  };
  // The target sends long replies from memory that the program may change after the fence.
  int error = await_each([&](int target) {
    const auto replied = [&] { return !origin.awaits_long_reply(target); };
    if (const int failed = replied() ? MPI_SUCCESS : await(call, state, target, replied)) return failed;
    return state.checks ? flush_in_epoch(call, state, target) : MPI_SUCCESS;
  });
  if (error != MPI_SUCCESS) return error;
  std::vector<std::uint32_t> sent;
  for (int target = 0; target < state.size(); ++target)
    sent.push_back(static_cast<std::uint32_t>(origin.sent(target)));
  runtime().engine().messages().send_posted();
  error = api::allreduce(call, MPI_IN_PLACE, sent.data(), state.size(), find(MPI_UINT32_T), find(MPI_SUM),
                         win.comm, {});
  if (error != MPI_SUCCESS) return fail_collective(call, state, error);
  const std::uint32_t expected = sent[static_cast<std::size_t>(state.rank)];
  const auto arrived = [&] {
    return static_cast<std::int32_t>(static_cast<std::uint32_t>(state.window.target.applied()) - expected) >=
           0;
  };
  if (!arrived()) wait_until([&] { return arrived() || gone_member(state) >= 0; });
  if (!arrived()) return fail_gone(call, state, gone_member(state));
  return await_each([&](int target) {
    return origin.is_locally_complete(target) ? MPI_SUCCESS : flush_local(call, state, target);
  });
}

int fence(Call& call, Win& win, bool counts) noexcept {
  WinState& state = state_of(win);
  if (counts && !state.all_mapped)
    if (const int error = await_operations(call, win); error != MPI_SUCCESS) return error;
  // Also where all operations have been served: the sums lack a rank that died, and only the rank that added
  // them up knows. The barrier fails everywhere.
  const int error = api::barrier(call, win.comm, {});
  return error == MPI_SUCCESS ? MPI_SUCCESS : fail_collective(call, state, error);
}

// The ranks of `group` in the window. False: one of them is not in it.
bool ranks_of(Call& call, const Group& group, const Win& win, std::vector<int>& ranks) noexcept {
  const std::vector<std::int32_t>& peers = win.comm->group->peers;
  for (std::size_t i = 0; i < group.peers.size(); ++i) {
    const auto found = std::find(peers.begin(), peers.end(), group.peers[i]);
    if (found == peers.end()) {
      (void)call.fail(MPI_ERR_GROUP, "argument 1 (group): its rank %zu is not in the window", i);
      return false;
    }
    ranks.push_back(static_cast<int>(found - peers.begin()));
  }
  return true;
}

// True when all origins of the exposure epoch have completed.
bool all_completed(WinState& state) noexcept {
  return std::all_of(state.origins.begin(), state.origins.end(),
                     [&](int origin) { return state.window.target.has_completed(origin); });
}

void end_exposure(WinState& state) noexcept {
  for (const int origin : state.origins) state.window.target.take_complete(origin);
  state.origins.clear();
  (void)state.epochs.end_exposure();
}

// An origin that has gone without completing; -1: none.
int gone_origin(WinState& state) noexcept {
  for (const int origin : state.origins)
    if (runtime().engine().peers().is_gone(state.member(origin).peer) &&
        !state.window.target.has_completed(origin))
      return origin;
  return -1;
}

int abandon_exposure(Call& call, WinState& state, int gone) noexcept {
  state.origins.clear();
  (void)state.epochs.end_exposure();
  return fail_gone(call, state, gone);
}

}  // namespace

namespace api {

int win_fence(Call& call, int assertion, Win* win) {
  const int allowed = MPI_MODE_NOSTORE | MPI_MODE_NOPUT | MPI_MODE_NOPRECEDE | MPI_MODE_NOSUCCEED;
  if (check_assert(call, assertion, allowed) != MPI_SUCCESS) return call.error();
  WinState& state = state_of(*win);
  if (const char* reason = state.epochs.fence((assertion & MPI_MODE_NOSUCCEED) == 0))
    return refuse(call, reason);
  if (state.size() == 1) return MPI_SUCCESS;
  const int error = fence(call, *win, (assertion & MPI_MODE_NOPRECEDE) == 0);
  if (state.checks) state.window.target.conflicts()->end_all();
  state.window.origin.pass_fence();  // also after an error: every rank counts the same fences
  state.window.target.pass_fence();
  if (error != MPI_SUCCESS) return error;
  for (int target = 0; target < state.size(); ++target)
    if (state.window.origin.take_failure(target))
      return call.fail(MPI_ERR_RMA_RANGE,
                       "an operation on rank %d was outside the memory that this rank has attached", target);
  return fail_conflict(call, state);
}

int win_post(Call& call, Group* group, int assertion, Win* win) {
  if (check_assert(call, assertion, MPI_MODE_NOCHECK | MPI_MODE_NOSTORE | MPI_MODE_NOPUT) != MPI_SUCCESS)
    return call.error();
  WinState& state = state_of(*win);
  std::vector<int> origins;
  if (!ranks_of(call, *group, *win, origins)) return call.error();
  if (const char* reason = state.epochs.post()) return refuse(call, reason);
  state.origins = std::move(origins);
  for (const int origin : state.origins) {
    if (origin == state.rank)
      state.window.origin.add_post(origin);
    else
      state.window.target.post_to(origin);
  }
  runtime().engine().messages().send_posted();
  return MPI_SUCCESS;
}

int win_start(Call& call, Group* group, int assertion, Win* win) {
  if (check_assert(call, assertion, MPI_MODE_NOCHECK) != MPI_SUCCESS) return call.error();
  WinState& state = state_of(*win);
  std::vector<int> targets;
  if (!ranks_of(call, *group, *win, targets)) return call.error();
  if (const char* reason = state.epochs.start(targets)) return refuse(call, reason);
  rma::Origin& origin = state.window.origin;
  for (const int target : targets) {
    const int error = await(call, state, target, [&] { return origin.is_posted(target); });
    if (error != MPI_SUCCESS) return (void)state.epochs.complete(), error;
  }
  for (const int target : targets) origin.take_post(target);
  state.targets = std::move(targets);
  return MPI_SUCCESS;
}

int win_complete(Call& call, Win* win) {
  WinState& state = state_of(*win);
  if (const char* reason = state.epochs.complete()) return refuse(call, reason);
  rma::Origin& origin = state.window.origin;
  int error = MPI_SUCCESS;
  const auto keep = [&error](int result) { error = error == MPI_SUCCESS ? result : error; };
  for (const int target : state.targets) {
    if (target != state.rank)
      keep(await(call, state, target, [&] { return !origin.awaits_long_reply(target); }));
    if (state.checks) keep(flush_in_epoch(call, state, target));
    if (state.checks && target == state.rank) state.window.target.conflicts()->end(target);
    if (target == state.rank)
      state.window.target.complete_own();
    else
      origin.complete(target);
  }
  for (const int target : state.targets) keep(flush_local(call, state, target));
  state.targets.clear();
  return error == MPI_SUCCESS ? fail_conflict(call, state) : error;
}

int win_wait(Call& call, Win* win) {
  WinState& state = state_of(*win);
  if (!state.epochs.is_posted()) return refuse(call, state.epochs.end_exposure());
  wait_until([&] { return all_completed(state) || gone_origin(state) >= 0; });
  if (all_completed(state)) return end_exposure(state), MPI_SUCCESS;
  return abandon_exposure(call, state, gone_origin(state));
}

int win_test(Call& call, Win* win, int* flag) {
  WinState& state = state_of(*win);
  if (!state.epochs.is_posted()) return refuse(call, state.epochs.end_exposure());
  if (!all_completed(state)) (void)runtime().engine().progress();
  *flag = all_completed(state) ? 1 : 0;
  if (*flag != 0)
    end_exposure(state);
  else if (const int gone = gone_origin(state); gone >= 0)
    return abandon_exposure(call, state, gone);
  return MPI_SUCCESS;
}

}  // namespace api
}  // namespace herald::mpi
