// SPDX-License-Identifier: BSD-3-Clause
// launch/handover.hpp: our options in the spelling of another engine, for jobs on several hosts. Pure.
// In:  the job, the hosts, the engine, the environment.
// Out: the engine's command line and what to set before it is executed.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "environment.hpp"
#include "hosts.hpp"
#include "spec.hpp"

namespace herald::launch {

enum class Engine { srun, prterun, openmpi, hydra };

struct HandoverInput {
  Engine engine = Engine::hydra;
  std::string path;      // of the engine's program
  std::string srun_mpi;  // "pmix" or "pmi2"
  HostList hosts;        // empty: the engine knows them (a Slurm allocation)
  std::int64_t timeout_s = 0;
  Environment env;  // ours, with the job's key
};

struct Handover {
  std::vector<std::string> argv;
  std::vector<std::pair<std::string, std::string>> set;  // variables to set before exec
  std::string multi_prog;  // srun's table of programs; its name in argv is kMultiProg
  bool close_stdin = false;
  std::vector<std::string> notes;  // what the engine cannot do
};

inline constexpr const char* kMultiProg = "@multi-prog@";

// Throws UsageError when the engine cannot express the job.
Handover translate(const JobSpec& spec, const HandoverInput& input);

}  // namespace herald::launch
