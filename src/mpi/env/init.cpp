// SPDX-License-Identifier: BSD-3-Clause
// The world model: MPI_Init to MPI_Finalize, and MPI_Abort.
#include <pthread.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "calls.hpp"
#include "mpi/comm/comm.hpp"
#include "mpi/core/attr.hpp"
#include "mpi/core/info.hpp"
#include "mpi/core/tables.hpp"
#include "mpi/dyn/spawn.hpp"
#include "mpi/env/leaks.hpp"
#include "mpi/p2p/bsend.hpp"

namespace herald::mpi::api {
namespace {

std::uint64_t this_thread() noexcept { return static_cast<std::uint64_t>(::pthread_self()); }

int start_world(Call& call, int level) noexcept {
  Runtime& run = runtime();
  if (run.world_state == Runtime::World::live)
    return call.fail(MPI_ERR_OTHER, "MPI is started already; call MPI_Init or MPI_Init_thread once");
  if (run.world_state == Runtime::World::ended)
    return call.fail(MPI_ERR_OTHER, "MPI has ended in this process (MPI_Finalize) and cannot start again");
  std::string why;
  const int error = run.start(call, level == MPI_THREAD_MULTIPLE, why);
  if (error != MPI_SUCCESS) return call.fail(error, "%s", why.c_str());
  if (level == MPI_THREAD_MULTIPLE && !run.threads_multiple()) level = MPI_THREAD_SERIALIZED;
  run.thread_level = level;
  run.main_thread = this_thread();
  make_world_comms();
  complete_env_info(*tables().env_info, level);
  run.world_state = Runtime::World::live;
  return meet_parent(call);
}

// Ascending; empty: the whole job ends, as all its ranks are members, or a process of another job is one, or
// the launcher cannot end some ranks.
std::vector<int> ranks_to_abort(const Comm& comm) {
  if (!runtime().has_engine() || !runtime().boot().can_abort_ranks()) return {};
  std::vector<int> ranks(comm.group->peers.begin(), comm.group->peers.end());
  if (comm.remote != nullptr) ranks.insert(ranks.end(), comm.remote->peers.begin(), comm.remote->peers.end());
  std::sort(ranks.begin(), ranks.end());
  const int size = runtime().engine().peers().size();
  if (static_cast<int>(ranks.size()) >= size || ranks.back() >= size) return {};
  return ranks;
}

}  // namespace

int init(Call& call, int*, char***) { return start_world(call, MPI_THREAD_SINGLE); }

int init_thread(Call& call, int*, char***, int required, int* provided) {
  if (*thread_level_name(required) == '\0')
    return call.fail(MPI_ERR_ARG,
                     "argument 3 (required) is %d; use MPI_THREAD_SINGLE, MPI_THREAD_FUNNELED, "
                     "MPI_THREAD_SERIALIZED or MPI_THREAD_MULTIPLE",
                     required);
  const int error = start_world(call, required);
  if (error == MPI_SUCCESS) *provided = runtime().thread_level;
  return error;
}

int finalize(Call& call) {
  Runtime& run = runtime();
  if (run.world_state != Runtime::World::live)
    return call.fail(MPI_ERR_OTHER, run.world_state == Runtime::World::ended
                                        ? "called a second time; call it once"
                                        : "MPI_Init was not called; end sessions with MPI_Session_finalize");
  // As if MPI_COMM_SELF were freed, while everything still works.
  int error = delete_attributes(call, store_of(*run.self));
  if (error == MPI_SUCCESS) error = delete_attributes(call, store_of(*run.world));
  if (error != MPI_SUCCESS) return error;
  flush_all_buffers();
  if (list_has(run.knobs().check, "leaks")) report_leaks();
  run.world_state = Runtime::World::ended;
  release(std::exchange(run.self, nullptr));
  run.stop(call, std::exchange(run.world, nullptr));
  return MPI_SUCCESS;
}

int initialized(Call&, int* flag) {
  *flag = runtime().world_state != Runtime::World::not_started;
  return MPI_SUCCESS;
}

int finalized(Call&, int* flag) {
  *flag = runtime().world_state == Runtime::World::ended;
  return MPI_SUCCESS;
}

int query_thread(Call& call, int* provided) {
  if (runtime().world_state != Runtime::World::live)
    return call.fail(MPI_ERR_OTHER, "there is a thread level from MPI_Init to MPI_Finalize only");
  *provided = runtime().thread_level;
  return MPI_SUCCESS;
}

int is_thread_main(Call& call, int* flag) {
  if (runtime().world_state != Runtime::World::live)
    return call.fail(MPI_ERR_OTHER, "there is a main thread from MPI_Init to MPI_Finalize only");
  *flag = this_thread() == runtime().main_thread;
  return MPI_SUCCESS;
}

int abort(Call&, Comm* comm, int errorcode) {
  const std::vector<int> ranks = ranks_to_abort(*comm);
  char text[600], end[60] = "aborting the job";
  if (!ranks.empty())
    std::snprintf(end, sizeof end, "aborting its %zu rank%s", ranks.size(), ranks.size() == 1 ? "" : "s");
  std::snprintf(text, sizeof text, "herald: %s: MPI_Abort with code %d on %s: %s", who_am_i(), errorcode,
                comm->name.empty() ? "a communicator" : comm->name.c_str(), end);
  runtime().abort(errorcode, text, false, ranks);
}

}  // namespace herald::mpi::api
