// SPDX-License-Identifier: BSD-3-Clause
// launch/start.hpp: starts the process of a rank, and the guard process that cleans up after a killed
// mpiexec.
#pragma once
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <string>
#include <vector>

namespace herald::launch {

// State that mpiexec changes for itself; ranks get the original.
struct Inherited {
  sigset_t mask{};
  bool sigpipe_ignored = false;
  bool limit_raised = false;
  rlimit files{};
};

struct Start {
  const char* path = nullptr;
  char* const* argv = nullptr;
  char* const* shell_argv = nullptr;  // for a script without "#!"
  char* const* envp = nullptr;
  const char* wdir = nullptr;  // null: that of mpiexec
  int in = -1, out = -1, err = -1;
  int pmi = -1;  // has the number pmi_as in the child
  int pmi_as = -1;
  const std::vector<int>* cpus = nullptr;  // null: not bound
};

struct Started {
  pid_t pid = -1;
  int error = 0;           // errno
  const char* stage = "";  // the step that failed
};

// The child leads its own process group, and the kernel kills it when mpiexec ends.
Started start_process(const Start& start, const Inherited& inherited);

// A small process that waits for the end of mpiexec. If mpiexec is killed, the guard kills the process groups
// of the ranks and removes the job's files.
class Guard {
 public:
  ~Guard() { stop(); }
  void start(const std::vector<pid_t>& groups, const std::string& job_id);
  void stop();

 private:
  pid_t pid_ = -1;
  int pipe_ = -1;
};

}  // namespace herald::launch
