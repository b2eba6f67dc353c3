// SPDX-License-Identifier: BSD-3-Clause
// launch/rank_starter.hpp: starts all ranks of a job, each with a PMI socket, pipes for its output, and
// standard input.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "children.hpp"
#include "forwarder.hpp"
#include "plan.hpp"
#include "pmi_sockets.hpp"
#include "poller.hpp"
#include "start.hpp"
#include "stream.hpp"

namespace herald::launch {

// Raises the limit of open files for mpiexec itself. Throws std::runtime_error if it stays too low.
void raise_file_limit(const JobPlan& plan, Inherited& inherited);

class RankStarter {
 public:
  struct Job {
    Poller& poller;
    Children& children;
    PmiSockets& pmi;
    OutputForwarder& output;
    std::unique_ptr<InputRelay>& input;
  };
  RankStarter(JobPlan& plan, const Inherited& inherited, Job job);
  ~RankStarter();
  RankStarter(const RankStarter&) = delete;
  RankStarter& operator=(const RankStarter&) = delete;

  // 0, or the exit code of the job: a rank could not be started, and the user has been told.
  int start_all();

 private:
  int start_rank(int rank, const AppPlan& app, std::vector<char*>& argv, std::vector<char*>& envp);
  int open_input();
  bool redirect(const std::string& pattern, int rank, int& fd);
  int fail(int rank, const char* what, int error);

  JobPlan& plan_;
  const Inherited& inherited_;
  Job job_;
  std::vector<int> input_of_rank_;
  int null_ = -1, pmi_as_ = -1;
};

}  // namespace herald::launch
