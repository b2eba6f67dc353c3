// SPDX-License-Identifier: BSD-3-Clause
// launch/output.hpp: merges the output of all ranks (one stream: stdout or stderr) line by line. Pure.
// In:  bytes per rank, the end of a rank, the time.
// Out: bytes ready to be written; whether a rank may be read now (back-pressure).
// Timer: at most one: the oldest incomplete line is written after a pause, so that prompts appear.
// Invariants: bytes of one rank keep their order and none is added or lost, except labels and the newline
//             before a label; if callers obey accepts(), memory per rank is at most kLineLimit and one read.
//
// A line longer than kLineLimit is written in pieces. Its rank then owns the stream: output of other ranks
// waits until the line is complete, its rank exits, or the rank writes nothing for kPromptPause.
#pragma once
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "alike.hpp"

namespace herald::launch {

using Millis = std::int64_t;

inline constexpr std::size_t kLineLimit = 64 * 1024, kReadyLimit = 256 * 1024;
inline constexpr Millis kPromptPause = 200;

class OutputMux {
 public:
  // `show_prompts`: write incomplete lines after a pause. Off for files.
  OutputMux(int ranks, bool label, bool show_prompts);
  // An error that several ranks report is written once (launch/alike.hpp), unless lines have labels.
  void merge_errors() { merges_ = !label_; }
  void set_stamp(std::function<std::string()> stamp) { stamp_ = std::move(stamp); }  // begins each line
  void set_numbers(std::vector<int> numbers) {
    numbers_ = std::move(numbers);
  }  // for labels; empty: 0, 1, ...

  void on_bytes(int rank, std::string_view bytes, Millis now);
  void on_end(int rank);
  void on_time(Millis now);
  void on_all_ended();
  void add_message(std::string_view text);  // of mpiexec itself

  bool accepts(int rank) const { return ready_.size() < kReadyLimit && (owner_ < 0 || owner_ == rank); }
  std::string& ready() { return ready_; }
  std::optional<Millis> next_deadline() const;

 private:
  struct Source {
    std::string pending;
    Millis last_input = 0;
    bool ended = false;
  };
  void emit(int rank, bool all);
  void append(int rank, std::string_view text);
  void release();
  void release_alike(bool all);

  std::vector<Source> sources_;
  std::string ready_;
  int owner_ = -1;           // rank whose over-long line is being written
  int unfinished_ = -1;      // rank that wrote the last bytes, if these end without newline
  std::size_t partial_ = 0;  // sources with pending text
  AlikeLines alike_;
  std::vector<int> numbers_;
  std::function<std::string()> stamp_;
  Millis now_ = 0;
  bool label_;
  bool show_prompts_;
  bool merges_ = false;
};

}  // namespace herald::launch
