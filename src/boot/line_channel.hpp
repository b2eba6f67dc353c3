// SPDX-License-Identifier: BSD-3-Clause
// boot/line_channel.hpp: whole lines of text in and out of a stream socket.
// In:  a connected socket, blocking or not; lines arrive in pieces of any size, calls are interrupted.
// Out: one line at a time without its end; after a failure, what went wrong in words.
// Invariant: a line longer than kLongestLine is an error, so that a stranger cannot fill our memory.
// Threads: one reader; writers may be several, a line is never torn by another one.
#pragma once
#include <atomic>
#include <cstddef>
#include <string>
#include <string_view>

#include "base/status.hpp"

namespace herald::boot {

class LineChannel {
 public:
  static constexpr std::size_t kLongestLine = std::size_t{1} << 20;
  static constexpr int kForever = -1;

  explicit LineChannel(int fd) noexcept : fd_{fd} {}  // takes the descriptor over
  LineChannel(const LineChannel&) = delete;
  LineChannel& operator=(const LineChannel&) = delete;
  ~LineChannel();

  Status read_line(std::string& line, int timeout_ms, std::string& why);
  Status write_line(std::string_view line, std::string& why);  // adds the end of line
  // For a process that is about to end: allocates nothing, gives up rather than wait for long. `line`
  // holds its end of line.
  void write_last_words(std::string_view line) noexcept;

 private:
  Status fill(int timeout_ms, std::string& why);

  const int fd_;
  std::string buffer_;        // bytes received, not handed out yet
  std::size_t searched_ = 0;  // so many of them are known to hold no end of line
  std::atomic_flag writing_;  // held while a line goes out
};

}  // namespace herald::boot
