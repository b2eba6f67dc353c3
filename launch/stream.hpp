// SPDX-License-Identifier: BSD-3-Clause
// launch/stream.hpp: mpiexec's standard streams: nonblocking writes, and copying standard input to ranks.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "output.hpp"

namespace herald::launch {

// An output stream. Other processes (the shell, a pager) share the descriptor, so O_NONBLOCK must not be set
// on it. A pipe or terminal is reopened through /proc, a socket is written with MSG_DONTWAIT; where neither
// works, each write has at most PIPE_BUF bytes and follows a poll.
class Sink {
 public:
  enum class Result { done, blocked, broken };
  explicit Sink(int fd);
  ~Sink();
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;

  bool empty() const { return sent_ == pending_.size(); }
  void push(std::string& text);  // swaps the text out; requires empty()
  Result flush();
  int fd() const { return fd_; }
  bool is_file() const { return is_file_; }
  int error() const { return error_; }

 private:
  enum class Mode { plain, socket, polled };
  long write_some(const char* data, std::size_t size);
  int fd_;
  bool own_ = false;
  bool is_file_ = false;
  Mode mode_ = Mode::plain;
  std::string pending_;
  std::size_t sent_ = 0;
  int error_ = 0;
};

// Copies standard input to pipes: for a terminal (ranks are not in its foreground process group and may not
// read it) and for --stdin all. Waits for the slowest reader, so one buffer is enough.
class InputRelay {
 public:
  struct Target {
    int rank;
    int fd;
    std::size_t sent = 0;
    bool watched = false;
  };
  // watch(fd, write, on, rank): adds or removes a descriptor of the event loop.
  using Watch = std::function<void(int fd, bool write, bool on, int rank)>;

  InputRelay(std::vector<Target> targets, Watch watch);
  ~InputRelay();
  InputRelay(const InputRelay&) = delete;
  InputRelay& operator=(const InputRelay&) = delete;

  void on_source(Millis now);
  void on_target(int rank);
  void on_rank_end(int rank);
  void on_time(Millis now);
  std::optional<Millis> next_deadline() const;

 private:
  bool in_background() const;
  void read_source();
  void push();
  void watch_source(bool on);
  void drop(std::size_t index);
  void finish();

  std::vector<Target> targets_;
  Watch watch_;
  std::string buffer_;
  bool file_ = false, terminal_ = false, eof_ = false, source_watched_ = false;
  bool more_ = false;  // a file, which epoll does not take: read on in the next iteration
  std::optional<Millis> recheck_at_;
};

}  // namespace herald::launch
