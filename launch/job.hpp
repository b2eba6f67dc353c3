// SPDX-License-Identifier: BSD-3-Clause
// launch/job.hpp: one job on this machine, from start to exit code. One thread, one epoll loop.
//
//   running --(a rank fails, abort, stalled barrier, timeout, signal)--> ending: SIGTERM, after kGrace
//   SIGKILL
//      \--(all ranks have exited)--> draining: read output until end of file, at most kDrain; then kill the
//                                    rest of the ranks' process groups, and read what the pipes hold
//
// Exited ranks are reaped at the end of the job: until then no other process can get their group id, and
// mpiexec signals no foreign process.
#pragma once
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "environment.hpp"
#include "output.hpp"
#include "pmi.hpp"
#include "spec.hpp"
#include "start.hpp"
#include "stream.hpp"

namespace herald::launch {

struct AppPlan {
  std::string path;
  std::vector<std::string> argv;
  std::string wdir;
  Environment env;
  int count = 1;
};

struct JobPlan {
  std::vector<AppPlan> apps;
  int size = 0;
  long universe = 0;
  std::string job_id, job_key, host;
  bool label = false, verbose = false, quiet = false, keep_going = false;
  std::int64_t timeout_s = 0;  // 0: none
  StdinTo stdin_to = StdinTo::rank;
  int stdin_rank = 0;
  std::int64_t pretended_hosts = 0, pretended_per_host = 0;  // as in JobSpec
  std::vector<std::vector<int>> bind;  // processors per rank, rank modulo its size; empty: not bound
};

inline constexpr Millis kGrace = 400;      // between SIGTERM and SIGKILL
inline constexpr Millis kExitDelay = 300;  // before SIGTERM after an exit with a code other than 0
inline constexpr Millis kDrain = 500;      // for output of processes that outlive their rank
inline constexpr int kTimeoutCode = 124;

class Job {
 public:
  explicit Job(JobPlan plan);
  ~Job();
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;
  int run();

 private:
  enum class Tag : unsigned { signals, pmi, output, sink, input_source, input_target };
  struct Rank {
    pid_t pid = -1;
    int app = 0;
    bool alive = false;
    int pmi = -1;
    bool pmi_writing = false;
    std::array<int, 2> out{-1, -1};
    std::array<bool, 2> watched{false, false};
    std::array<int, 2> undrained{0, 0};  // bytes that a pipe held when draining began
  };
  struct Stream {
    std::unique_ptr<OutputMux> mux;
    Sink* sink = nullptr;
    bool broken = false;
  };

  // job_start.cpp
  void raise_file_limit();
  void block_signals();
  void open_streams();
  bool start_all();
  bool start_rank(int rank, const AppPlan& app, std::vector<char*>& argv, std::vector<char*>& envp,
                  int input);
  bool open_input(std::vector<int>& input_of_rank);
  bool start_failed(int rank, const char* what, int error);

  // job.cpp
  Millis now() const;
  void run_once();
  int wait_ms() const;
  void on_timers();
  void watch(int fd, unsigned events, Tag tag, int rank, int which);
  void unwatch(int fd);
  void dispatch(unsigned events, std::uint64_t tag);
  void read_pmi(int rank);
  void flush_pmi();
  void write_pmi(int rank);
  void close_pmi(int rank);
  bool finished() const;
  int finish();

  // job_end.cpp
  void on_signals();
  void on_user_signal(int number);
  void reap(pid_t first);
  void on_exit(int rank, int code, bool by_signal);
  void end_job(Millis delay);
  void fail(int code, const std::string& message);
  void signal_groups(int number);
  void check_pmi();
  void report(const std::string& text);
  std::string describe(int rank) const;
  int alive() const { return alive_; }

  // job_output.cpp
  void read_output(int rank, int which);
  void close_output(int rank, int which);
  void flush_output();
  void on_broken_stream(int which);
  void resume_paused();
  void drain();

  JobPlan plan_;
  std::vector<Rank> ranks_;
  PmiServer pmi_;
  Guard guard_;
  Inherited inherited_;
  std::array<Stream, 2> streams_;
  std::vector<std::unique_ptr<Sink>> sinks_;
  std::array<bool, 2> sink_watched_{false, false};
  std::unique_ptr<InputRelay> input_;
  std::vector<char> read_buffer_;
  std::vector<std::pair<int, int>> paused_;  // rank, stream
  int epoll_ = -1, signals_ = -1, null_ = -1, pmi_as_ = -1;
  int alive_ = 0, open_outputs_ = 0;
  Millis now_ = 0;
  std::optional<Millis> timeout_at_, term_at_, kill_at_, drain_at_, give_up_at_;
  bool ending_ = false, drained_ = false, user_ended_ = false, groups_killed_ = false;
  std::optional<int> code_;
  int unfinalized_rank_ = -1;  // exited with code 0 between init and finalize
};

}  // namespace herald::launch
