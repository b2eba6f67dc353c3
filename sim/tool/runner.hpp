// SPDX-License-Identifier: BSD-3-Clause
// sim/tool/runner.hpp: runs many seeds in parallel, and reports which failed and how to replay them.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace herald::sim {

struct Task {
  struct Item {
    std::string scenario;
    std::uint64_t seed;
  };
  std::string scenario = "mix";
  std::uint64_t first = 1, last = 1;
  std::vector<Item> kept;  // if not empty, these instead of the seeds
  unsigned threads = 1;
  double minutes = 0;  // 0: until the last seed; otherwise seeds from `first` on, for this time
  bool twice = false;  // run each seed twice and compare the histories
  bool verbose = false;
  bool json = false;
  unsigned most_failures = 10;
};

// Lines of a scenario and a seed; # begins a comment. False, with the reason, if the text is malformed.
bool read_kept(const std::string& file, std::vector<Task::Item>& kept, std::string& why);

// The number of seeds that failed.
std::uint64_t run_seeds(const Task& task);

}  // namespace herald::sim
