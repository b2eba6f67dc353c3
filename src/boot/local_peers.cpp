// SPDX-License-Identifier: BSD-3-Clause
#include "boot/local_peers.hpp"

#include <algorithm>

#include "boot/environment.hpp"

namespace herald::boot {

std::vector<int> parse_local_peers(std::string_view text, int rank, int size) {
  std::vector<int> ranks;
  while (!text.empty()) {
    std::size_t end = std::min(text.find(','), text.size());
    std::string_view item = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    std::size_t dash = std::min(item.find('-'), item.size());
    auto first = parse_int(item.substr(0, dash), 0, size - 1);
    auto last = dash < item.size() ? parse_int(item.substr(dash + 1), 0, size - 1) : first;
    if (!first || !last) return {};
    for (int i = *first; i <= *last; ++i) ranks.push_back(i);
    if (ranks.size() > static_cast<std::size_t>(size)) return {};
  }
  std::sort(ranks.begin(), ranks.end());
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  if (!std::binary_search(ranks.begin(), ranks.end(), rank)) return {};
  return ranks;
}

}  // namespace herald::boot
