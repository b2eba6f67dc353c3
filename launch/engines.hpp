// SPDX-License-Identifier: BSD-3-Clause
// launch/engines.hpp: decides whether a job needs other hosts, and finds the engine that reaches them.
#pragma once
#include <optional>

#include "environment.hpp"
#include "handover.hpp"
#include "hosts.hpp"
#include "spec.hpp"

namespace herald::launch {

struct Where {
  HostList hosts;        // may be empty
  bool several = false;  // more than this host
  std::int64_t host_count = 1;
};

// From the options, else the environment's host files, else Slurm.
Where find_hosts(const JobSpec& spec, const Environment& env);

// Replaces this process. Returns only with an exit code, after having said why.
int hand_over(const JobSpec& spec, const Where& where, std::int64_t timeout_s, const Environment& env);

}  // namespace herald::launch
