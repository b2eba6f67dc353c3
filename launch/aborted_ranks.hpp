// SPDX-License-Identifier: BSD-3-Clause
// launch/aborted_ranks.hpp: ends the ranks that MPI_Abort on a communicator names, while the job goes on.
// In:  aborts that the PMI server has read. Out: signals, the list of ended ranks (base/aborted_ranks.hpp),
// the
//      exit status of the job and its reason.
// Timer: SIGKILL for ranks that SIGTERM does not end.
#pragma once
#include <optional>
#include <set>
#include <string>

#include "children.hpp"
#include "pmi.hpp"

namespace herald::launch {

class AbortedRanks {
 public:
  AbortedRanks(const JobPlan& plan, Children& children, PmiServer& pmi)
      : plan_(plan), children_(children), pmi_(pmi) {}
  ~AbortedRanks();
  AbortedRanks(const AbortedRanks&) = delete;
  AbortedRanks& operator=(const AbortedRanks&) = delete;

  void take(std::int64_t now_ms, std::int64_t grace_ms);
  void on_time(std::int64_t now_ms);
  std::optional<std::int64_t> next_deadline() const { return kill_at_; }
  bool contains(int rank) const { return ended_.count(rank) != 0; }  // of this machine
  int status() const { return status_; }                             // 0: no rank was aborted
  const std::string& summary() const { return summary_; }

 private:
  void list(const RankAbort& abort);
  void end(int rank);

  const JobPlan& plan_;
  Children& children_;
  PmiServer& pmi_;
  std::set<int> ended_;
  std::optional<std::int64_t> kill_at_;
  int status_ = 0;
  std::string summary_;
  int list_ = -1;  // the file, locked
};

}  // namespace herald::launch
