// SPDX-License-Identifier: BSD-3-Clause
// launch/pmi.hpp: the PMI-1 server of one job: lines in, lines out. Pure.
// In:  bytes from each rank's socket; exits of ranks.
// Out: reply bytes per rank, and the ranks that have some; the first abort of the job; aborts of some ranks;
//      a barrier that cannot complete.
// Invariant: every command that expects a reply gets one, even a malformed command, so no rank waits forever.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "host_reports.hpp"
#include "pmi_barrier.hpp"
#include "pmi_jobs.hpp"
#include "rank_abort.hpp"

namespace herald::launch {

inline constexpr std::size_t kPmiKeyMax = 64, kPmiValueMax = 1024, kPmiLineMax = 16384;

struct PmiAbort {
  int rank = -1;
  int status = 1;        // exit status of the job
  int code = 1;          // as the rank gave it
  bool by_exit = false;  // the rank exits without MPI_Finalize
  std::string message;
};

class PmiServer {
 public:
  PmiServer(std::string kvs_name, std::vector<int> app_of_rank, long universe);

  // A host's part of a job: the barrier and what was put go to the server of the whole job, by lines.
  void use_upstream(const std::string& mapping);
  void on_upstream(std::string_view bytes);
  std::string take_upward() { return std::exchange(upward_, {}) + reports_.take_upward(); }
  // The server of the whole job: its clients are those of the hosts, and learn with each barrier what others
  // put.
  void serve_hosts() { serves_hosts_ = true; }
  HostReports& reports() { return reports_; }

  // Names of ports and spawned jobs; the server of the whole job has them.
  PmiJobs& jobs() { return jobs_; }
  void answer(const Asker& asker, std::string_view text);

  void on_bytes(int rank, std::string_view bytes);
  void on_exit(int rank) { barrier_.on_exit(rank); }
  // The rank has ended, or will; the others go on without it.
  void leave(int rank);
  void reply(int rank, std::string_view text);

  bool initialized(int rank) const { return clients_[index(rank)].initialized; }
  bool finalized(int rank) const { return clients_[index(rank)].finalized; }

  std::string& output(int rank) { return clients_[index(rank)].out; }
  // Ranks whose output grew since the last call.
  std::vector<int> take_dirty();
  const std::optional<PmiAbort>& aborted() const { return abort_; }
  std::vector<RankAbort> take_rank_aborts() { return std::exchange(rank_aborts_, {}); }
  std::optional<StalledBarrier> stalled_barrier() const { return barrier_.stalled(); }

 private:
  struct Client {
    std::string in, out;
    bool initialized = false, finalized = false;
    bool skipping = false;  // discards the rest of a line that is too long
    bool in_mcmd = false;   // between mcmd= and endcmd
    bool dirty = false;
  };
  static std::size_t index(int rank) { return static_cast<std::size_t>(rank); }
  void on_line(int rank, std::string_view line);
  void on_command(int rank, std::string_view command, std::string_view line);
  void put(int rank, std::string_view line);
  void get(int rank, std::string_view line);
  void complete_barrier();
  void release_barrier();
  void on_upstream_line(std::string_view line);
  void abort(int rank, std::string_view line);
  void abort_ranks(std::string_view line);

  PmiJobs jobs_;
  HostReports reports_;
  std::string kvs_name_;
  std::vector<int> app_of_rank_;
  long universe_;
  std::vector<Client> clients_;
  std::vector<int> dirty_;
  std::unordered_map<std::string, std::string> kvs_;
  PmiBarrier barrier_;
  std::optional<PmiAbort> abort_;
  std::vector<RankAbort> rank_aborts_;
  bool has_upstream_ = false, serves_hosts_ = false;
  std::vector<std::string> fresh_;  // keys that were put since the last barrier
  std::string upward_, upstream_line_;
};

}  // namespace herald::launch
