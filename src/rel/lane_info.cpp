// SPDX-License-Identifier: BSD-3-Clause
#include "rel/lane_info.hpp"

#include <algorithm>

#include "base/fatal.hpp"

namespace herald::rel {

LaneInfo::LaneInfo(std::uint64_t name_, std::span<const PeerId> members_, const LanesConfig& config) noexcept
    : name(name_),
      tree(members_.size() > config.flat_members && config.mode == LaneMode::streaming),
      members(members_.begin(), members_.end()),
      by_rank(members_.size()),
      numbers(config.first_upper, members_.size()) {
  const auto mine = std::find(members.begin(), members.end(), config.me);
  HERALD_ASSERT(mine != members.end());
  me = static_cast<std::uint16_t>(mine - members.begin());
  for (std::uint16_t i = 0; i < members.size(); ++i) by_rank[i] = i;
  std::sort(by_rank.begin(), by_rank.end(),
            [&](std::uint16_t a, std::uint16_t b) { return members[a] < members[b]; });
}

std::int32_t LaneInfo::place_of(std::uint32_t rank) const noexcept {
  const auto wanted = static_cast<PeerId>(rank);
  const std::int64_t guess = std::int64_t{wanted} - members.front();
  const auto count = static_cast<std::int64_t>(members.size());
  if (guess >= 0 && guess < count && members[static_cast<std::size_t>(guess)] == wanted)
    return static_cast<std::int32_t>(guess);
  const auto found = std::lower_bound(by_rank.begin(), by_rank.end(), wanted,
                                      [&](std::uint16_t place, PeerId r) { return members[place] < r; });
  return found != by_rank.end() && members[*found] == wanted ? *found : -1;
}

}  // namespace herald::rel
