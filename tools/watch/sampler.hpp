// SPDX-License-Identifier: BSD-3-Clause
// tools/watch/sampler.hpp: all ranks of one job, again and again: those of this host from their pages, those
// of hosts behind mpiexec's links through feeds.
#pragma once
#include <string>
#include <vector>

#include "watch/read_ranks.hpp"
#include "watch/remote.hpp"

namespace herald::watch {

inline constexpr int kAllLevels = 2;

class Sampler {
 public:
  // `levels` of the tree of mpiexec's links to follow; 0: this host only.
  Sampler(std::string job, int levels);
  // Asks the ranks for counters, waits shortly for answers, and reads. By rank; a rank that computes does not
  // answer. Empty: the job has ended, or there is none.
  std::vector<RankView> sample();
  // Hosts of the job that do not answer.
  const std::vector<std::string>& silent() const { return silent_; }

 private:
  void look_for_ranks();
  void open_feeds(const std::vector<RankView>& seen);
  void wait_for_answers() const;

  std::string job_;
  int levels_;
  std::vector<RankReader> ranks_;
  int age_ = 0;  // samples since the last look
  bool fed_ = false;
  std::vector<Feed> feeds_;
  std::vector<std::string> silent_;
};

}  // namespace herald::watch
