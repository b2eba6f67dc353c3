// SPDX-License-Identifier: BSD-3-Clause
// launch/tree.hpp: the tree of links of a job on many hosts. mpiexec reaches at most kMostLinks of them; each
// of these reaches the other hosts of its group, and joins their output, PMI and exit codes. Pure.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include "spec.hpp"

namespace herald::launch {

inline constexpr std::size_t kMostLinks = 32;

struct TreeLink {
  std::string host;
  std::vector<std::string> command;  // of the link
  std::string message;               // for its proxy
};

// The hosts that one host reaches, itself first.
struct TreePlan {
  std::string job_id, job_key;
  int ranks = 0;  // of the whole job
  bool verbose = false, keep_going = false, stack_traces = false;
  StdinTo stdin_to = StdinTo::none;
  int stdin_link = 0;
  std::vector<TreeLink> links;
};

std::string encode(const TreePlan& plan);
bool decode(std::string_view text, TreePlan& plan);

// The first link of each group of neighbours, and the end: as equal as can be, at most kMostLinks groups.
std::vector<std::size_t> group_bounds(std::size_t links);

}  // namespace herald::launch
