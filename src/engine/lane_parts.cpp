// SPDX-License-Identifier: BSD-3-Clause
// engine/lane_parts.cpp: lanes of some members of another lane: made by one of them, who tells the others.
#include <algorithm>

#include "engine/lanes.hpp"

namespace herald::engine {
namespace {

// Names of such lanes: no communicator's context has this bit.
constexpr std::uint64_t kPartBit = std::uint64_t{1} << 63;

}  // namespace

rel::LaneId LaneNet::open_part(rel::LaneId whole, std::span<const p2p::PeerId> members) noexcept {
  const std::uint64_t name = kPartBit | static_cast<std::uint64_t>(config_.me) << 32 | next_part_;
  if (!carrier_.invite(whole, name, members)) return -1;
  ++next_part_;
  stirred_ = true;
  const rel::LaneId lane = open_lane(name, members);
  if (lane < 0) return -1;
  spot(lane).part = true;
  return lane;
}

void LaneNet::close_part(rel::LaneId lane) noexcept {
  core_.drop_casts(lane);
  ending_.push_back(lane);
  dismiss_guests();
}

// It is closed when its last packet has found room.
void LaneNet::dismiss_guests() noexcept {
  if (ending_.empty()) return;
  std::erase_if(ending_, [&](rel::LaneId lane) {
    if (!carrier_.dismiss(lane)) return false;
    stirred_ = true;
    leave_group(lane);
    return true;
  });
}

// Named by its maker, who is among the members, as we are; all of them different.
bool LaneNet::is_good(const p2p::LaneCarrier::Call& call) const noexcept {
  if (call.name >> 32 != (kPartBit >> 32 | static_cast<std::uint64_t>(call.source))) return false;
  if (std::any_of(guests_.begin(), guests_.end(), [&](const Guest& one) { return one.name == call.name; }))
    return false;
  std::vector<p2p::PeerId> sorted = call.members;
  std::sort(sorted.begin(), sorted.end());
  return std::adjacent_find(sorted.begin(), sorted.end()) == sorted.end() && !sorted.empty() &&
         sorted.front() >= 0 && sorted.back() < config_.peers &&
         std::binary_search(sorted.begin(), sorted.end(), call.source) && call.source != config_.me;
}

void LaneNet::answer_calls() noexcept {
  if (!carrier_.has_calls()) return;
  stirred_ = true;
  for (const p2p::LaneCarrier::Call& call : carrier_.take_calls()) {
    if (call.opens) {
      const bool ours = std::find(call.members.begin(), call.members.end(), config_.me) != call.members.end();
      if (!ours || !is_good(call)) continue;
      const rel::LaneId lane = open_lane(call.name, call.members);
      if (lane >= 0) guests_.push_back({call.name, call.source, call.lane, lane});
      continue;
    }
    std::erase_if(guests_, [&](const Guest& one) {
      if (one.lane != call.lane || one.host != call.source) return false;
      leave_group(one.lane);
      return true;
    });
  }
}

void LaneNet::forget(p2p::PeerId peer) noexcept {
  lanes_.forget_peer(peer);
  std::erase_if(guests_, [&](const Guest& one) {
    if (one.host != peer) return false;
    leave_group(one.lane);
    return true;
  });
}

}  // namespace herald::engine
