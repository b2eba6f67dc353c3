// SPDX-License-Identifier: BSD-3-Clause
#include "rel/lane_table.hpp"

#include <algorithm>

#include "base/fatal.hpp"
#include "wire/compact.hpp"

namespace herald::rel {

Lane* LaneTable::find(LaneId id) const noexcept {
  if (id < 0 || id >= static_cast<LaneId>(lanes_.size())) return nullptr;
  Lane* const lane = lanes_[static_cast<std::size_t>(id)].get();
  return lane == nullptr || !lane->is_open() ? nullptr : lane;
}

// The slot of the lane, and how often that slot was given: so a late datagram of the last lane in it is
// known.
std::uint16_t LaneTable::next_index(LaneId id) noexcept {
  const auto at = static_cast<std::size_t>(id);
  if (at >= kIndexedLanes) return 0;
  if (at >= openings_.size()) openings_.resize(at + 1);
  const std::size_t opening = 1 + openings_[at]++ % (wire::kMaxLaneIndex / kIndexedLanes);
  return static_cast<std::uint16_t>(at | opening * kIndexedLanes);
}

Lane* LaneTable::find_index(std::uint32_t index) const noexcept {
  const std::size_t at = index % kIndexedLanes;
  Lane* const lane = at < lanes_.size() ? lanes_[at].get() : nullptr;
  return lane == nullptr || lane->info().closing || lane->info().index != index ? nullptr : lane;
}

LaneId LaneTable::open(std::uint64_t name, std::span<const PeerId> members) noexcept {
  HERALD_ASSERT(names_.find(name) == nullptr);
  auto lane = std::make_unique<Lane>(context_, name, members);
  const auto gap = std::find(lanes_.begin(), lanes_.end(), nullptr);
  const auto id = static_cast<LaneId>(gap - lanes_.begin());
  lane->info().id = id;
  lane->info().index = next_index(id);
  names_.insert(name, lane.get());
  closed_.on_opened(name);
  early_.on_opened(name);
  for (std::uint32_t i = 0; i < members.size(); ++i)
    if (lost_[static_cast<std::size_t>(members[i])]) lane->lose_member(context_.clock, i);
  if (gap == lanes_.end()) {
    lanes_.push_back(std::move(lane));
  } else {
    *gap = std::move(lane);
  }
  return id;
}

void LaneTable::close(Lane& lane) noexcept {
  if (context_.listener.is_calling()) {
    lane.info().closing = context_.some_closing = true;
    return;
  }
  lane.close_receivers(closed_);
  if (!lane.close()) return;
  const std::uint64_t name = lane.info().name;
  early_.drop(name);
  closed_.on_closed(lane.info());
  names_.erase(name);
  lanes_[static_cast<std::size_t>(lane.info().id)].reset();
}

void LaneTable::reap() noexcept {
  if (!context_.some_closing) return;
  context_.some_closing = false;
  for (const auto& lane : lanes_)
    if (lane != nullptr && lane->info().closing) close(*lane);
}

void LaneTable::forget_peer(PeerId peer) noexcept {
  if (static_cast<std::size_t>(peer) >= lost_.size()) return;  // of another job: in no lane
  lost_[static_cast<std::size_t>(peer)] = true;
  for (const auto& lane : lanes_) {
    if (lane == nullptr) continue;
    const std::int32_t place = lane->info().place_of(static_cast<std::uint32_t>(peer));
    if (place < 0 || place == lane->info().me) continue;
    lane->lose_member(context_.clock, static_cast<std::uint32_t>(place));
  }
  reap();
}

}  // namespace herald::rel
