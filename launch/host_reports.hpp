// SPDX-License-Identifier: BSD-3-Clause
// launch/host_reports.hpp: what the hosts of a job tell mpiexec about their ranks, as lines of the PMI
// connection: the processes that have started, and on request what each rank waits for. Pure.
// A question goes down the tree of links; each host answers with a line for each of its ranks and a last one,
// which a server between two others sends up when all its hosts have.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace herald::launch {

struct StartedRank {
  int rank = 0, pid = 0;
  std::string host, path;
};

// Either of a rank that has called MPI_Init, in JSON (tools/watch/view_json.hpp), or of one that has not.
struct ToldRank {
  std::string view;
  std::string without_init;  // "rank 3 on n2"
};

class HostReports {
 public:
  // `stacks`: hosts print the stacks of their ranks, too.
  static std::string question(bool stacks) {
    return stacks ? "cmd=show_waits stacks=1\n" : "cmd=show_waits\n";
  }

  // A server between two others: passes on.
  void use_upstream() { has_upstream_ = true; }
  std::string take_upward() { return std::exchange(upward_, {}); }
  void tell(const StartedRank& started);
  void tell(const ToldRank& rank);
  void tell_end() { upward_ += "cmd=waits_end\n"; }

  std::vector<StartedRank> take_started() { return std::exchange(started_, {}); }
  // So many hosts are asked.
  void begin(std::size_t hosts);
  bool is_complete() const { return answers_ == 0; }
  std::vector<ToldRank> take_told() { return std::exchange(told_, {}); }
  // The server of the whole job has asked since the last call; with stacks?
  std::optional<bool> take_question() { return std::exchange(asked_, {}); }

  // False: the line is none of these.
  bool on_line_from_host(std::string_view line);
  bool on_line_from_upstream(std::string_view line);

 private:
  bool has_upstream_ = false;
  std::optional<bool> asked_;
  std::size_t answers_ = 0;  // still to come
  std::string upward_;
  std::vector<StartedRank> started_;
  std::vector<ToldRank> told_;
};

}  // namespace herald::launch
