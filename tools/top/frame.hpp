// SPDX-License-Identifier: BSD-3-Clause
// tools/top/frame.hpp: one picture of a running job, from two samples of its ranks. [pure]
#pragma once
#include <string>
#include <vector>

#include "watch/rank_view.hpp"

namespace herald::tools::top {

enum class Colour { plain, title, good, busy, waiting, bad };

struct Line {
  std::string text;
  Colour colour = Colour::plain;
};

struct Frame {
  std::vector<Line> head;   // job, paths, deadlocks
  std::vector<Line> ranks;  // by host
};

// `before` may be empty: then there are no rates. `silent`: hosts that do not answer.
Frame make_frame(const std::vector<watch::RankView>& before, const std::vector<watch::RankView>& now,
                 const std::vector<std::string>& silent, const std::string& clock);

// "12.3k", "1.2G"; powers of 1000, at most 6 characters.
std::string short_number(double value);

}  // namespace herald::tools::top
