// SPDX-License-Identifier: BSD-3-Clause
// launch/plan.hpp: a job on this machine, ready to be started.
#pragma once
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "environment.hpp"
#include "spec.hpp"

namespace herald::launch {

struct AppPlan {
  std::string path;
  std::vector<std::string> argv;
  std::string wdir;
  Environment env;
  int count = 1;
  int number = -1;  // MPI_APPNUM; -1: its index here
};

// Ranks under debuggers.
struct DebugPlan {
  bool stack_traces = false;                      // of ranks that wait
  std::map<int, std::vector<std::string>> under;  // words before the program of a rank: its debugger
  int terminal_rank = -1;                         // has the terminal of mpiexec
};

// Of a job on several hosts.
struct Links {
  int ranks = 0;          // of all hosts
  std::string rsh_agent;  // as in JobSpec, for jobs that this one spawns
};

struct JobPlan {
  std::vector<AppPlan> apps;
  int size = 0;
  long universe = 0;
  std::string job_id, job_key, host;
  OutputSpec output;
  bool label = false, verbose = false, quiet = false, keep_going = false;
  std::int64_t timeout_s = 0;  // 0: none
  StdinTo stdin_to = StdinTo::rank;
  int stdin_rank = 0;
  std::int64_t pretended_hosts = 0, pretended_per_host = 0;  // as in JobSpec
  // Of a host's part of a job:
  int world = 0;           // ranks of the whole job; 0: all of them are here
  std::vector<int> ranks;  // the numbers of ours in it; empty: 0, 1, ...
  std::string mapping;     // PMI_process_mapping
  int upstream = -1;       // socket to the mpiexec that started this part
  // Of a job on several hosts: a "rank" is the link to one of them.
  std::vector<std::string> hosts;
  std::vector<std::string> messages;  // the part of each host
  int number_of(int rank) const { return ranks.empty() ? rank : ranks[static_cast<std::size_t>(rank)]; }
  int world_size() const { return world > 0 ? world : size; }
  Links links;
  DebugPlan debug;
  std::vector<int> apps_of_ranks() const {
    std::vector<int> out;
    for (std::size_t a = 0; a < apps.size(); ++a)
      out.insert(out.end(), static_cast<std::size_t>(apps[a].count),
                 apps[a].number >= 0 ? apps[a].number : static_cast<int>(a));
    return out;
  }
  std::vector<std::vector<int>> bind;  // processors per rank, rank modulo its size; empty: not bound
};

}  // namespace herald::launch
