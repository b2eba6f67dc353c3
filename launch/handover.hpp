// SPDX-License-Identifier: BSD-3-Clause
// launch/handover.hpp: translates our options into those of another launcher, for jobs on several hosts.
// Pure. In:  the job, the hosts, the launcher, the environment. Out: the launcher's command line, and the
// variables to set before exec.
#pragma once
#include <string>
#include <utility>
#include <vector>

#include "environment.hpp"
#include "hosts.hpp"
#include "spec.hpp"

namespace herald::launch {

enum class Launcher { srun, prterun, openmpi, hydra, ssh };

struct HandoverInput {
  Launcher launcher = Launcher::hydra;
  std::string path;      // of the launcher's program
  std::string srun_mpi;  // "pmix" or "pmi2"
  HostList hosts;        // empty: the launcher knows them (a Slurm allocation)
  std::int64_t timeout_s = 0;
  Environment env;  // that of mpiexec, with the job's key
};

struct Handover {
  std::vector<std::string> argv;
  std::vector<std::pair<std::string, std::string>> set;  // variables to set before exec
  std::string multi_prog;  // srun's table of programs; its name in argv is kMultiProg
  bool close_stdin = false;
  std::vector<std::string> notes;  // options that the launcher does not support
};

inline constexpr const char* kMultiProg = "@multi-prog@";

// Throws UsageError if the launcher has no equivalent.
Handover translate(const JobSpec& spec, const HandoverInput& input);

}  // namespace herald::launch
