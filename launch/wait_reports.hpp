// SPDX-License-Identifier: BSD-3-Clause
// launch/wait_reports.hpp: mpiexec says what each rank of a job waits for, and which ranks are in a deadlock.
// Ranks of this host are read at once; other hosts are asked (host_reports.hpp), and all is said together
// when they have answered.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "children.hpp"
#include "forwarder.hpp"
#include "pmi.hpp"
#include "watch/rank_view.hpp"

namespace herald::launch {

class WaitReports {
 public:
  WaitReports(const JobPlan& plan, const Children& children, PmiServer& pmi, OutputForwarder& output)
      : plan_(plan), children_(children), pmi_(pmi), output_(output) {}

  // Called when all has been said, with the time until ranks that print their own stack have done so.
  using Then = std::function<void(Millis)>;
  // Says what ranks wait for, if one of them has waited for so long. Stacks only if `least` is 0.
  void ask(Millis now, Millis least, Then then);
  // If the mpiexec of the whole job has asked.
  void answer();
  // Says it if all hosts have answered, or if those that have not will not any more.
  void on_time(Millis now);
  void finish();  // with the answers that have come
  std::optional<Millis> next_deadline() const { return due_; }

 private:
  std::vector<watch::RankView> own_views() const;
  std::vector<std::string> without_init(const std::vector<watch::RankView>& views) const;
  void ask_hosts(bool stacks);
  void say(std::vector<watch::RankView> views, const std::vector<std::string>& others);
  Millis report_stacks() const;
  void report(const std::string& text) { output_.report("mpiexec: " + text); }

  const JobPlan& plan_;
  const Children& children_;
  PmiServer& pmi_;
  OutputForwarder& output_;
  std::optional<Millis> due_;
  Millis least_ = 0;
  Then then_;
};

}  // namespace herald::launch
