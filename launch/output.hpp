// SPDX-License-Identifier: BSD-3-Clause
// launch/output.hpp: joins the output of all ranks (one stream: stdout or stderr) line by line. Pure.
// In:  bytes per rank, the end of a rank, the time.
// Out: bytes ready to be written; whether a rank may be read now (back-pressure).
// Timer: at most one: the oldest unfinished line is shown after a pause, so that prompts appear.
// Invariants: bytes of one rank keep their order and none is added or lost (labels and the newline before a
//             label aside); memory is bounded per rank by kLineLimit and one read, if accepts() is obeyed.
//
// A line longer than kLineLimit is passed on in pieces. Its rank then owns the stream: the others are held
// until the line ends, its rank ends, or the rank falls silent.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace herald::launch {

using Millis = std::int64_t;

inline constexpr std::size_t kLineLimit = 64 * 1024, kReadyLimit = 256 * 1024;
inline constexpr Millis kPromptPause = 200;

class OutputMux {
 public:
  // `show_prompts`: unfinished lines are shown after a pause. Off for files, where no one looks.
  OutputMux(int ranks, bool label, bool show_prompts);

  void on_bytes(int rank, std::string_view bytes, Millis now);
  void on_end(int rank);
  void on_time(Millis now);
  void on_all_ended();
  void own_line(std::string_view text);  // a message of mpiexec itself

  bool accepts(int rank) const { return ready_.size() < kReadyLimit && (owner_ < 0 || owner_ == rank); }
  std::string& ready() { return ready_; }
  std::optional<Millis> next_deadline() const;

 private:
  struct Source {
    std::string pending;
    Millis touched = 0;
    bool ended = false;
  };
  void emit(int rank, bool all);
  void append(int rank, std::string_view text);
  void release();

  std::vector<Source> sources_;
  std::string ready_;
  int owner_ = -1;           // rank of an over-long line that is being passed on
  int unfinished_ = -1;      // rank whose text stands at the end of what was written, without newline
  std::size_t partial_ = 0;  // sources with pending text
  bool label_;
  bool show_prompts_;
};

}  // namespace herald::launch
