// SPDX-License-Identifier: BSD-3-Clause
// launch/alike.hpp: one line for an error that many ranks report. Pure.
// In:  text of the ranks: complete lines "herald: rank 3 on n1: ...: aborting the job" are taken out of it.
// Out: after kHold "herald: ranks 0-3 on n1: ...", once for all ranks of a host with the same words.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace herald::launch {

class AlikeLines {
 public:
  static constexpr std::int64_t kHold = 150;  // milliseconds

  // The text without the lines that it keeps.
  std::string take(std::string_view text, std::int64_t now);
  // The lines whose time has come; all of them: `now` is not looked at.
  std::string release(std::int64_t now, bool all);
  std::optional<std::int64_t> next_deadline() const;

 private:
  struct Entry {
    std::string host, words;
    std::vector<int> ranks;
    std::int64_t at;
  };
  bool keep(std::string_view line, std::int64_t now);
  std::vector<Entry> entries_;
};

// "rank 3" or "ranks 0-2, 5".
std::string ranks_text(std::vector<int> ranks);

}  // namespace herald::launch
