// SPDX-License-Identifier: BSD-3-Clause
// launch/forwarder.hpp: copies the ranks' output to mpiexec's own streams, with back-pressure.
#pragma once
#include <array>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "output.hpp"
#include "plan.hpp"
#include "poller.hpp"
#include "stream.hpp"

namespace herald::launch {

class OutputForwarder {
 public:
  OutputForwarder(Poller& poller, const JobPlan& plan);
  ~OutputForwarder();
  OutputForwarder(const OutputForwarder&) = delete;
  OutputForwarder& operator=(const OutputForwarder&) = delete;

  void add(int rank, int out, int err);  // owns the descriptors, which do not block
  void report(const std::string& text) { streams_[1].mux->add_message(text); }  // of mpiexec itself
  void read(int rank, int which, Millis now);
  void read_all(Millis now);  // everything that the ranks have written so far
  void on_time(Millis now);
  std::optional<Millis> next_deadline() const;
  // Writes as much as the streams take. Returns the failure of a stream, if one has failed.
  std::string flush();
  // All ranks have exited: reads what the pipes hold, and waits for no other process. False: the reader of
  // mpiexec's output is slow, call again.
  bool drain(Millis now);

  bool is_open() const { return open_ > 0; }    // a pipe of a rank
  bool is_drained() const { return drained_; }  // after drain()
  bool is_empty() const;                        // all has been written

 private:
  struct Pipe {
    int fd = -1;
    bool watched = false;
    int undrained = 0;  // bytes that it held when draining began
  };
  struct Stream {
    std::unique_ptr<OutputMux> mux;
    Sink* sink = nullptr;
    bool broken = false;
  };
  Pipe& pipe(int rank, int which) {
    return pipes_[static_cast<std::size_t>(rank) * 2 + static_cast<std::size_t>(which)];
  }
  int ranks() const { return static_cast<int>(pipes_.size() / 2); }
  void close_pipe(int rank, int which);
  std::string on_broken_stream(int which);
  void watch_sinks();
  void resume_paused();

  Poller& poller_;
  std::vector<Pipe> pipes_;  // two per rank
  std::array<Stream, 2> streams_;
  std::vector<std::unique_ptr<Sink>> sinks_;
  std::array<bool, 2> sink_watched_{false, false};
  std::vector<std::pair<int, int>> paused_;  // rank, stream
  std::vector<char> buffer_;
  int open_ = 0;
  bool drained_ = false;
};

}  // namespace herald::launch
