// SPDX-License-Identifier: BSD-3-Clause
// launch/plan.hpp: a job on this machine, ready to be started.
#pragma once
#include <cstdint>
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
};

struct JobPlan {
  std::vector<AppPlan> apps;
  int size = 0;
  long universe = 0;
  std::string job_id, job_key, host;
  bool label = false, verbose = false, quiet = false, keep_going = false;
  std::int64_t timeout_s = 0;  // 0: none
  StdinTo stdin_to = StdinTo::rank;
  int stdin_rank = 0;
  std::int64_t pretended_hosts = 0, pretended_per_host = 0;  // as in JobSpec
  std::vector<std::vector<int>> bind;  // processors per rank, rank modulo its size; empty: not bound
};

}  // namespace herald::launch
