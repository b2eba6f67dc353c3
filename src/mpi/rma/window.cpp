// SPDX-License-Identifier: BSD-3-Clause
#include "mpi/rma/window.hpp"

namespace herald::mpi {

rma::Endpoint& rma_endpoint() noexcept {
  static auto& endpoint =
      *new rma::Endpoint(runtime().engine().messages().services(), [] { runtime().engine().wake_waiters(); });
  return endpoint;
}

WinState::WinState(rma::Endpoint& process, std::uint64_t id, const Comm& comm) noexcept
    : endpoint(process),
      window(process.services(), id, comm.group->peers, comm.rank),
      epochs(comm.size),
      members(static_cast<std::size_t>(comm.size)),
      rank(comm.rank) {
  endpoint.add(window);
}

WinState::~WinState() { endpoint.remove(window); }

int refuse(Call& call, const char* reason, Arg arg, int rank) noexcept {
  if (arg.number == 0) return call.fail(MPI_ERR_RMA_SYNC, "%s", reason);
  return call.fail(MPI_ERR_RMA_SYNC, "argument %d (%s) is %d: %s", arg.number, arg.name, rank, reason);
}

int fail_collective(Call& call, const WinState& state, int error) noexcept {
  const int gone = gone_member(state);
  if (gone < 0) return call.fail(error, "a rank of the window has ended or cannot be reached");
  const p2p::PeerId peer = state.members[static_cast<std::size_t>(gone)].peer;
  return call.fail(error, "rank %d of the window, on host %s, has ended or cannot be reached", gone,
                   runtime().engine().peers().host_of(peer).c_str());
}

int fail_conflict(Call& call, WinState& state) noexcept {
  if (!state.checks) return MPI_SUCCESS;
  const std::string text = state.window.origin.take_conflict();
  return text.empty() ? MPI_SUCCESS : call.fail(MPI_ERR_RMA_CONFLICT, "%s", text.c_str());
}

int gone_member(const WinState& state) noexcept {
  const engine::Engine& engine = runtime().engine();
  if (engine.peers().gone_count() == 0) return -1;
  for (int i = 0; i < state.size(); ++i)
    if (engine.peers().is_gone(state.members[static_cast<std::size_t>(i)].peer)) return i;
  return -1;
}

}  // namespace herald::mpi
