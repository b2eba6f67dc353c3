// SPDX-License-Identifier: BSD-3-Clause
// tools/watch/read_ranks.hpp: finds the ranks of running jobs on this host and reads their pages.
#pragma once
#include <string>
#include <vector>

#include "watch/rank_view.hpp"

namespace herald::watch {

// All ranks of this user (of all users, for root) whose job has this name; an empty one stands for all.
std::vector<RankView> read_ranks(const std::string& job);

// A mapped page, for tools that read it again and again.
class RankReader {
 public:
  explicit RankReader(RankPage* page) noexcept : page_(page) {}
  ~RankReader();
  RankReader(RankReader&& other) noexcept;
  RankReader& operator=(RankReader&& other) noexcept;
  RankView read() const;
  // Asks the rank to write its counters at its next turn.
  void want_counters() const noexcept;
  // The same, and its timeline, if it records one.
  void want_timeline() const noexcept;
  bool has_answered() const noexcept;
  bool is_alive() const noexcept;

 private:
  RankPage* page_;
};
std::vector<RankReader> open_ranks(const std::string& job);
// Asks all ranks of the job on this host for their timelines; nothing waits for them.
void want_timelines(const std::string& job);

}  // namespace herald::watch
