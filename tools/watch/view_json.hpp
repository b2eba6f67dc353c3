// SPDX-License-Identifier: BSD-3-Clause
// tools/watch/view_json.hpp: views of ranks as they travel from another host: one line of JSON. [pure]
#pragma once
#include <string>
#include <vector>

#include "watch/rank_view.hpp"

namespace herald::watch {

std::string to_line(const std::vector<RankView>& views);  // without an end of line
// False: not what to_line() of this version wrote.
bool from_line(const std::string& line, std::vector<RankView>& views);

}  // namespace herald::watch
