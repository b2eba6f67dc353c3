// SPDX-License-Identifier: BSD-3-Clause
// launch/host_plan.hpp: the part of a job that one host runs, as it travels to its proxy; which ranks go
// where. Pure.
#pragma once
#include <string>
#include <vector>

#include "environment.hpp"
#include "hosts.hpp"
#include "spec.hpp"

namespace herald::launch {

struct HostApp {
  std::vector<std::string> argv;
  std::string wdir;
  Environment env;
  int count = 0;  // ranks of this host; the ranks of an app are consecutive
};

// How the ranks of a host get their cores.
struct Binding {
  std::string map_by;  // as the option, or the slots of a rankfile
  std::string rank_by, bind_to;
};

struct HostPlan {
  std::string host;  // as the user named it
  int size = 0;      // of the whole job
  long universe = 0;
  std::string job_id, job_key, mapping;
  bool label = false, verbose = false, keep_going = false, stack_traces = false;
  OutputSpec output;
  StdinTo stdin_to = StdinTo::none;
  int stdin_rank = 0;      // index in `ranks`
  std::vector<int> ranks;  // in the job, ascending
  Binding bind_by;
  std::vector<HostApp> apps;
};

std::string encode(const HostPlan& plan);
// False: not what encode() of this version wrote.
bool decode(std::string_view text, HostPlan& plan);

// The ranks of each host. A host takes as many as it has slots (`ppn` if given, else one), or one if
// `by_node`; then the next one follows, and after the last the first again. With `by_node`, full hosts are
// left out as long as all ranks fit into the slots.
std::vector<std::vector<int>> spread(const HostList& list, int total, std::int64_t ppn, bool by_node);

// PMI_process_mapping: blocks of (first host, hosts, ranks each) in the order of ranks.
std::string process_mapping(const std::vector<std::vector<int>>& ranks);

// Variables of the user's session on this machine, which mean nothing on another.
Environment without_local(const Environment& env);

}  // namespace herald::launch
