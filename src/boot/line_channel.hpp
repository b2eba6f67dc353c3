// SPDX-License-Identifier: BSD-3-Clause
// boot/line_channel.hpp: whole lines of text in and out of a stream socket.
// In:  a connected socket, blocking or not; lines arrive in pieces of any size, and signals interrupt calls.
// Out: one line at a time without its newline; after a failure, a message.
// Invariant: a line longer than kLongestLine is an error, so that the other side cannot exhaust our memory.
// Threads: one reader; any number of writers, whose lines do not mix.
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

  explicit LineChannel(int fd) noexcept : fd_{fd} {}  // takes ownership
  LineChannel(const LineChannel&) = delete;
  LineChannel& operator=(const LineChannel&) = delete;
  ~LineChannel();

  Status read_line(std::string& line, int timeout_ms, std::string& why);
  Status write_line(std::string_view line, std::string& why);  // adds the newline
  // For a process that is about to end: allocates nothing and gives up instead of blocking. `line` ends with
  // its newline.
  void write_last_words(std::string_view line) noexcept;

 private:
  Status fill(int timeout_ms, std::string& why);

  const int fd_;
  std::string buffer_;        // bytes received and not returned yet
  std::size_t searched_ = 0;  // the first so many contain no newline
  std::atomic_flag writing_;  // held while a line is written
};

}  // namespace herald::boot
