// SPDX-License-Identifier: BSD-3-Clause
// launch/start.hpp: starts one process, and the guard that outlives a killed mpiexec.
#pragma once
#include <sched.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/types.h>

#include <string>
#include <vector>

namespace herald::launch {

// What was so before mpiexec changed it for itself; ranks get it back.
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
  const char* wdir = nullptr;  // null: stay
  int in = -1, out = -1, err = -1;
  int pmi = -1;  // becomes pmi_as in the child
  int pmi_as = -1;
  const std::vector<int>* cpus = nullptr;  // null: not bound
};

struct Started {
  pid_t pid = -1;
  int error = 0;           // errno
  const char* stage = "";  // what failed
};

// The child leads a process group of its own and dies with mpiexec.
Started start_process(const Start& start, const Inherited& inherited);

// A small process that waits for the end of mpiexec. If mpiexec is killed, it kills what is left of the
// groups and removes the job's files.
class Guard {
 public:
  ~Guard() { dismiss(); }
  void post(const std::vector<pid_t>& groups, const std::string& job_id);
  void dismiss();

 private:
  pid_t pid_ = -1;
  int pipe_ = -1;
};

}  // namespace herald::launch
