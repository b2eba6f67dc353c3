// SPDX-License-Identifier: BSD-3-Clause
// launch/spawned.hpp: jobs that ranks have spawned (MPI_Comm_spawn). Each is another mpiexec, which reads its
// command line from a pipe, writes to our standard output and error, and reports its start on another pipe.
#pragma once
#include <sys/types.h>

#include <string>
#include <vector>

#include "plan.hpp"
#include "pmi.hpp"
#include "poller.hpp"
#include "start.hpp"

namespace herald::launch {

inline constexpr const char* kSpawnOption = "--herald-spawn";
inline constexpr const char* kSpawnFd = "HERALD_SPAWN_FD";
inline constexpr const char* kParentPort = "HERALD_PARENT_PORT";

class SpawnedJobs {
 public:
  explicit SpawnedJobs(Poller& poller) : poller_(poller) {}
  ~SpawnedJobs();
  SpawnedJobs(const SpawnedJobs&) = delete;
  SpawnedJobs& operator=(const SpawnedJobs&) = delete;

  // Starts the jobs that ranks requested of this server. They run on the hosts of `plan` unless they say so.
  void start_requested(PmiServer& server, const JobPlan& plan, bool ending, const Inherited& inherited);
  void on_report(PmiServer& server, int id);  // its pipe is readable
  // Tells `jobs`, which may be null, of jobs that have ended. The exit code of one that failed after its
  // start.
  int take_exits(PmiJobs* jobs);
  int alive() const;
  void signal(int number) const;

 private:
  // Empty: it is about to start, and on_report() tells the rest; else why not.
  std::string start(const SpawnRequest& request, const Inherited& inherited);
  struct Spawned {
    Asker asker;
    int id = 0;
    pid_t pid = -1;
    int pipe = -1;
    bool started = false;
  };
  Poller& poller_;
  std::vector<Spawned> all_;
};

// In the mpiexec of a spawned job: its ranks have been started.
void report_spawned();
// The command line that its parent wrote to standard input.
SpawnWords read_spawn_words();

}  // namespace herald::launch
