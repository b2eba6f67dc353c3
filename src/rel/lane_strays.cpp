// SPDX-License-Identifier: BSD-3-Clause
#include "rel/lane_strays.hpp"

#include <algorithm>

namespace herald::rel {

bool LaneStrays::waits_for(std::uint64_t name) const noexcept {
  return std::any_of(kept_.begin(), kept_.end(), [&](const Stray& one) { return one.name == name; });
}

bool LaneStrays::take(std::uint64_t name, Stray& out) noexcept {
  const auto found =
      std::find_if(kept_.begin(), kept_.end(), [&](const Stray& one) { return one.name == name; });
  if (found == kept_.end()) return false;
  out = *found;
  kept_.erase(found);
  return true;
}

void LaneStrays::expire(Instant before, PacketPool& pool) noexcept {
  std::erase_if(kept_, [&](const Stray& one) {
    if (one.at >= before) return false;
    pool.give(one.slot);
    return true;
  });
}

void LaneStrays::drop(std::uint64_t name, PacketPool& pool) noexcept {
  std::erase_if(kept_, [&](const Stray& one) {
    if (one.name != name) return false;
    pool.give(one.slot);
    return true;
  });
}

void LaneStrays::note_opened(std::uint64_t name) noexcept {
  for (Closed& one : closed_)
    if (one.name == name) one.used = false;
}

bool LaneStrays::was_closed(std::uint64_t name) const noexcept {
  return std::any_of(closed_.begin(), closed_.end(),
                     [&](const Closed& one) { return one.used && one.name == name; });
}

}  // namespace herald::rel
