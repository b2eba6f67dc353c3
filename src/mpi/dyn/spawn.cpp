// SPDX-License-Identifier: BSD-3-Clause
// MPI_Comm_spawn: the root opens a port, the launcher starts a job whose processes know it, and the job
// connects at the end of its MPI_Init.
#include "mpi/dyn/spawn.hpp"

#include <algorithm>
#include <cstdio>

#include "calls.hpp"
#include "engine/clock.hpp"
#include "mpi/coll/internal.hpp"
#include "mpi/core/request.hpp"
#include "mpi/dyn/port.hpp"

namespace herald::mpi {
namespace {

constexpr Duration kLookEvery = milliseconds(200);        // whether the new job has ended
constexpr Duration kParentLimit = milliseconds(180'000);  // for the parent to accept

// A thread spawns a job, with the lock released in between. The launcher answers one question at a time, and
// tells of the job that was spawned last.
bool is_spawning = false;

// The processes of a new job connect, or the launcher says that it has ended.
std::unique_ptr<StreamChannel> accept_children(Port& port, Meeting& meeting) noexcept {
  const engine::Engine::Polling polling(runtime().engine());
  std::unique_ptr<StreamChannel> channel;
  Instant next_look = engine::read_clock() + kLookEvery;
  bool ended = false;
  wait_until([&] {
    channel = port.poll();
    if (channel != nullptr) return true;
    if (engine::read_clock() < next_look) return false;
    next_look = engine::read_clock() + kLookEvery;
    ended = runtime().boot().has_spawn_ended();
    return ended;
  });
  if (ended) {
    meeting.error = MPI_ERR_SPAWN;
    meeting.why = runtime().boot().last_error();
  }
  return channel;
}

std::unique_ptr<StreamChannel> start_alone(Call& call, const std::vector<boot::SpawnApp>& apps,
                                           Meeting& meeting) noexcept {
  meeting.error = MPI_ERR_SPAWN;
  const std::unique_ptr<Port> port = Port::open(call, meeting.why);
  if (port == nullptr) return nullptr;
  // The launcher may need long; other threads, and the answers to peers, go on meanwhile.
  const std::uint32_t depth = runtime().engine().lock().give_up();
  const Status status = runtime().boot().spawn(apps, port->name());
  runtime().engine().lock().take_back(depth);
  if (status != Status::ok) {
    meeting.why = runtime().boot().last_error();
    return nullptr;
  }
  meeting.error = MPI_SUCCESS;
  return accept_children(*port, meeting);
}

std::unique_ptr<StreamChannel> start_job(Call& call, const std::vector<boot::SpawnApp>& apps,
                                         Meeting& meeting) noexcept {
  wait_for_launcher();
  is_spawning = true;
  std::unique_ptr<StreamChannel> channel = start_alone(call, apps, meeting);
  is_spawning = false;
  runtime().engine().wake_waiters();
  return channel;
}

int count_of(const std::vector<boot::SpawnApp>& apps) noexcept {
  int count = 0;
  for (const boot::SpawnApp& app : apps) count += app.count;
  return count;
}

struct Totals {
  std::int32_t error = MPI_SUCCESS, processes = 0;
  char why[248] = {};
};

// Collective over `comm`. At the root: `totals` with an error if the arguments are wrong, else `apps`.
int spawn_all(Call& call, const std::vector<boot::SpawnApp>& apps, Totals totals, int root, Comm& comm,
              MPI_Comm* intercomm, int* errcodes) noexcept {
  if (comm.remote != nullptr)
    return call.fail(MPI_ERR_COMM, "argument (comm) is an inter-communicator; give an intra-communicator");
  totals.processes = count_of(apps);
  if (const int error = bcast_bytes(comm, &totals, sizeof totals, root); error != MPI_SUCCESS)
    return call.fail(error, "the members of the communicator could not reach each other");
  if (totals.error != MPI_SUCCESS) return call.fail(totals.error, "%s", totals.why);
  Meeting meeting;
  std::unique_ptr<StreamChannel> channel;
  if (comm.rank == root) {
    channel = start_job(call, apps, meeting);
    meeting.channel = channel.get();
    meeting.lower = true;
    if (meeting.error != MPI_SUCCESS) meeting.why = "\"" + apps[0].command + "\": " + meeting.why;
  }
  const Comm* const made = introduce(call, comm, root, meeting);
  if (errcodes != MPI_ERRCODES_IGNORE)
    std::fill_n(errcodes, totals.processes, made != nullptr ? MPI_SUCCESS : MPI_ERR_SPAWN);
  if (made == nullptr) return call.error();
  *intercomm = handle_of(made);
  return MPI_SUCCESS;
}

void set_error(Totals& totals, int error, const std::string& why) noexcept {
  totals.error = error;
  std::snprintf(totals.why, sizeof totals.why, "%s", why.c_str());
}

// At the root: one command with its arguments.
bool read_app(const char* command, char* const* argv, int count, const Info* info, boot::SpawnApp& app,
              Totals& totals) noexcept {
  if (command == nullptr || *command == '\0') {
    set_error(totals, MPI_ERR_ARG, "the command is empty; give the name of a program");
  } else if (count < 0) {
    set_error(totals, MPI_ERR_ARG, "maxprocs is " + std::to_string(count) + "; use 0 or more");
  } else {
    app.command = command;
    app.count = count;
    for (; argv != nullptr && *argv != nullptr; ++argv) app.arguments.emplace_back(*argv);
    if (info != nullptr) app.info = info->entries;
  }
  return totals.error == MPI_SUCCESS;
}

}  // namespace

void wait_for_launcher() noexcept {
  wait_until([] { return !is_spawning; });
}

int meet_parent(Call& call) noexcept {
  const std::string port = runtime().boot().parent_port();
  if (port.empty()) return MPI_SUCCESS;
  Meeting meeting;
  std::unique_ptr<StreamChannel> channel;
  if (runtime().world->rank == 0) {
    channel = connect_to_port(port, kParentLimit, meeting.error, meeting.why);
    if (channel != nullptr) meeting.error = MPI_SUCCESS;
    if (channel == nullptr) meeting.why = "the job that spawned this one cannot be reached: " + meeting.why;
    meeting.channel = channel.get();
  }
  runtime().parent = introduce(call, *runtime().world, 0, meeting);
  if (runtime().parent == nullptr) return call.error();
  runtime().parent->name = "MPI_COMM_PARENT";
  return MPI_SUCCESS;
}

namespace api {

int comm_spawn(Call& call, const char* command, char* argv[], int maxprocs, Info* info, int root, Comm* comm,
               MPI_Comm* intercomm, int array_of_errcodes[]) {
  Totals totals;
  std::vector<boot::SpawnApp> apps(1);
  if (comm->rank == root) {
    (void)read_app(command, argv, maxprocs, info, apps[0], totals);
    if (totals.error == MPI_SUCCESS && maxprocs == 0)
      set_error(totals, MPI_ERR_ARG, "argument 3 (maxprocs) is 0; use 1 or more");
  }
  return spawn_all(call, apps, totals, root, *comm, intercomm, array_of_errcodes);
}

int comm_spawn_multiple(Call& call, int count, char* array_of_commands[], char** array_of_argv[],
                        const int array_of_maxprocs[], const MPI_Info array_of_info[], int root, Comm* comm,
                        MPI_Comm* intercomm, int array_of_errcodes[]) {
  Totals totals;
  std::vector<boot::SpawnApp> apps;
  if (comm->rank == root) {
    if (count < 1 || array_of_commands == nullptr || array_of_maxprocs == nullptr || array_of_info == nullptr)
      set_error(totals, MPI_ERR_ARG, "arguments 1 to 5: give at least one command, with maxprocs and info");
    for (int i = 0; i < count && totals.error == MPI_SUCCESS; ++i) {
      apps.emplace_back();
      const Info* const info = array_of_info[i] == MPI_INFO_NULL ? nullptr : find(array_of_info[i]);
      if (info == nullptr && array_of_info[i] != MPI_INFO_NULL)
        set_error(totals, MPI_ERR_INFO, "argument 5 (array_of_info) has a handle that is no info object");
      else
        (void)read_app(array_of_commands[i], array_of_argv != MPI_ARGVS_NULL ? array_of_argv[i] : nullptr,
                       array_of_maxprocs[i], info, apps.back(), totals);
    }
    std::erase_if(apps, [](const boot::SpawnApp& app) { return app.count == 0; });
    if (totals.error == MPI_SUCCESS && apps.empty())
      set_error(totals, MPI_ERR_ARG, "argument 4 (array_of_maxprocs) has zeros only");
  }
  return spawn_all(call, apps, totals, root, *comm, intercomm, array_of_errcodes);
}

}  // namespace api
}  // namespace herald::mpi
