// SPDX-License-Identifier: BSD-3-Clause
// launch/stream.hpp: mpiexec's own standard streams: writing without ever blocking the loop, and standard
// input handed to ranks.
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "output.hpp"

namespace herald::launch {

// Where output goes. The descriptor is shared with other processes (the shell, a pager), so O_NONBLOCK is
// not set on it: a pipe or terminal is opened anew through /proc, a socket is written with MSG_DONTWAIT, and
// where neither works a poll comes before each write of at most PIPE_BUF bytes.
class Sink {
 public:
  enum class Result { done, blocked, broken };
  explicit Sink(int fd);
  ~Sink();
  Sink(const Sink&) = delete;
  Sink& operator=(const Sink&) = delete;

  bool empty() const { return sent_ == pending_.size(); }
  void push(std::string& text);  // takes the text; only when empty
  Result flush();
  int fd() const { return fd_; }
  bool is_file() const { return is_file_; }
  int error() const { return error_; }

 private:
  enum class Way { plain, socket, polled };
  long write_some(const char* data, std::size_t size);
  int fd_;
  bool own_ = false;
  bool is_file_ = false;
  Way way_ = Way::plain;
  std::string pending_;
  std::size_t sent_ = 0;
  int error_ = 0;
};

// Copies standard input to pipes. Used for a terminal (ranks are not in its foreground group and may not read
// it) and for --stdin all. Goes at the pace of the slowest reader, so memory is one buffer.
class InputRelay {
 public:
  struct Target {
    int rank;
    int fd;
    std::size_t sent = 0;
    bool watched = false;
  };
  // watch(fd, write, on, rank): the loop's interest in a descriptor.
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
  void want_source(bool on);
  void drop(std::size_t index);
  void finish();

  std::vector<Target> targets_;
  Watch watch_;
  std::string buffer_;
  bool file_ = false, terminal_ = false, eof_ = false, source_watched_ = false;
  bool more_ = false;  // a file: read on at the next turn
  std::optional<Millis> look_again_;
};

}  // namespace herald::launch
