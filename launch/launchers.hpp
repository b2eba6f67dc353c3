// SPDX-License-Identifier: BSD-3-Clause
// launch/launchers.hpp: decides whether a job needs other hosts, and finds the launcher that reaches them.
#pragma once
#include <optional>

#include "environment.hpp"
#include "handover.hpp"
#include "hosts.hpp"
#include "spec.hpp"

namespace herald::launch {

struct Placement {
  HostList hosts;        // may be empty
  bool several = false;  // more than this host
  std::int64_t host_count = 1;
  std::vector<RankPlace> places;  // of a rankfile
};

// From the options, else the host files that the environment names, else the Slurm allocation.
Placement find_hosts(const JobSpec& spec, const Environment& env);

// The program that starts the ranks on other hosts.
struct Engine {
  Launcher launcher;
  std::string path;   // ssh: the command of the remote shell
  std::string shown;  // for messages
};

// --engine; else srun in an allocation, the launcher that options or variables are meant for, ssh, and what
// is installed. Throws if there is none.
Engine choose_engine(const JobSpec& spec, const Environment& env);

// Replaces this process by the other launcher. On failure: prints why and returns an exit code.
int hand_over(const JobSpec& spec, const Placement& where, std::int64_t timeout_s, const Environment& env,
              const Engine& engine);

}  // namespace herald::launch
