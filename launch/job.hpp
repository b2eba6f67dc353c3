// SPDX-License-Identifier: BSD-3-Clause
// launch/job.hpp: one job on this machine, from start to exit code. One thread, one epoll loop.
//
//   running --(a rank fails, abort, stalled barrier, timeout, signal)--> ending: SIGTERM, after kGrace
//   SIGKILL
//      \--(abort of some ranks)--> running, without them
//      \--(all ranks have exited)--> draining: read output until end of file, at most kDrain; then kill the
//                                    rest of the ranks' process groups, and read what the pipes hold
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "aborted_ranks.hpp"
#include "children.hpp"
#include "foreign.hpp"
#include "forwarder.hpp"
#include "plan.hpp"
#include "pmi_sockets.hpp"
#include "poller.hpp"
#include "signals.hpp"
#include "spawned.hpp"
#include "start.hpp"
#include "stream.hpp"
#include "wait_reports.hpp"

namespace herald::launch {

inline constexpr Millis kGrace = 400;       // between SIGTERM and SIGKILL
inline constexpr Millis kHostGrace = 3000;  // the same for links to other hosts
inline constexpr Millis kExitDelay = 300;   // before SIGTERM after an exit with a code other than 0
inline constexpr Millis kDrain = 500;       // for output of processes that outlive their rank
inline constexpr int kTimeoutCode = 124;

Millis clock_now();

// When something happens, if nothing changes.
struct Deadlines {
  std::optional<Millis> timeout, term, kill, drain, give_up, notice;
};

class Job {
 public:
  explicit Job(JobPlan plan);
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  int run();

 private:
  void start();
  void run_once();
  int wait_ms() const;
  void on_timers();
  void dispatch(const Ready& ready);
  void on_signals();
  void on_user_signal(int number);
  void on_exits(pid_t first);
  void on_exit(const Exit& exit);
  void check_pmi();
  void show_ranks_to_debuggers(bool have_started);
  void on_host_failed(const Exit& exit);
  void read_upstream();
  void write_upstream();
  bool has_links() const { return !plan_.hosts.empty(); }
  Millis grace() const { return has_links() ? kHostGrace : kGrace; }
  void end_job(Millis delay);
  void fail(int code, const std::string& message);
  void report_summary();
  void say_who_has_answered();
  void look_at_libraries();
  void check_foreign();
  void report(const std::string& text) { output_.report("mpiexec: " + text); }
  bool is_over() const { return children_.alive() == 0 && !output_.is_open(); }
  void drain();
  void flush_output();
  bool finished() const;
  int finish();

  JobPlan plan_;
  Inherited inherited_;
  Poller poller_;
  Signals signals_;
  Children children_;
  PmiSockets pmi_;
  AbortedRanks aborted_;
  OutputForwarder output_;
  WaitReports waits_;
  std::unique_ptr<InputRelay> input_;
  SpawnedJobs spawned_;
  Guard guard_;
  Millis now_;
  Deadlines at_;
  bool ending_ = false, user_ended_ = false;
  bool drained_ = false;  // no rank will write any more, and all that was written has been read
  std::optional<int> code_;
  std::string summary_;  // of the failure that decided the exit code, until all output has been read
  ForeignMpi foreign_;
  std::map<int, std::string> codes_;  // how each rank ended
  int unfinalized_rank_ = -1;         // exited with code 0 between init and finalize
};

}  // namespace herald::launch
