// SPDX-License-Identifier: BSD-3-Clause
#include "p2p/lane_carrier.hpp"

namespace herald::p2p {

bool LaneCarrier::pump(rel::LaneId lane) noexcept {
  bool moved = false;
  while (core_.wants_to_cast(lane)) {
    const std::span<std::byte> room = lanes_->room(lane, wire::kLargestHeader + 1);
    if (room.empty()) break;
    lanes_->commit(lane, core_.poll_cast(lane, room));
    moved = true;
  }
  return moved;
}

bool LaneCarrier::pump_ready() noexcept {
  bool moved = false;
  for (rel::LaneId lane = lanes_->next_ready(); lane >= 0; lane = lanes_->next_ready())
    moved = pump(lane) || moved;
  return moved;
}

Status LaneCarrier::heard(rel::LaneId, rel::PeerId source, std::span<const std::byte> packet) noexcept {
  Status status = Status::ok;
  switch (door_) {
    case Door::open: status = core_.on_packet(source, packet); break;
    case Door::later: status = Status::again; break;
    case Door::discard: break;
  }
  if (status != Status::ok) holds_ = true;
  return status;
}

void LaneCarrier::hearing_changed(rel::LaneId lane, rel::PeerId member, bool hears) noexcept {
  news_.push_back({lane, member, hears});
}

void LaneCarrier::member_lost(rel::LaneId, rel::PeerId member) noexcept { lost_.push_back(member); }

void LaneCarrier::losing(rel::LaneId, rel::PeerId source, std::uint32_t percent) noexcept {
  losses_.push_back({source, percent});
}

void LaneCarrier::moved(rel::LaneId lane, std::uint8_t move) noexcept { moves_.push_back({lane, move}); }

}  // namespace herald::p2p
