// SPDX-License-Identifier: BSD-3-Clause
#include "p2p/carrier.hpp"

namespace herald::p2p {

bool Carrier::pump(PeerId to) noexcept {
  bool moved = false;
  while (core_.wants_to_send(to)) {
    const std::span<std::byte> room = mesh_->reserve(to, wire::kLargestHeader + 1);
    if (room.empty()) {
      mesh_->set_backlog(to, true);
      return moved;
    }
    Borrowed borrowed;
    const std::size_t bytes = core_.poll_transmit(to, room, mesh_->may_borrow() ? &borrowed : nullptr);
    if (bytes == 0) continue;  // the operation failed instead
    mesh_->commit(to, bytes, borrowed);
    moved = true;
    if (core_.sender().take_urgent()) {
      mesh_->set_backlog(to, true);
      return true;
    }
  }
  if (moved) mesh_->set_backlog(to, false);
  return moved;
}

bool Carrier::pump_ready() noexcept {
  bool moved = false;
  for (PeerId to = mesh_->next_ready(); to >= 0; to = mesh_->next_ready()) moved = pump(to) || moved;
  return moved;
}

PeerId Carrier::take_lost() noexcept {
  if (lost_.empty()) return -1;
  const PeerId peer = lost_.back();
  lost_.pop_back();
  return peer;
}

Status Carrier::deliver(rel::PeerId from, std::span<const std::byte> packet) noexcept {
  switch (door_) {
    case Door::open: return core_.on_packet(from, packet);
    case Door::later: return wire::is_service(packet) ? core_.on_packet(from, packet) : Status::again;
    case Door::discard: break;
  }
  return Status::ok;
}

void Carrier::set_open(Door door) noexcept {
  door_ = door;
  if (door == Door::later) return;
  if (door == Door::open)
    for (const Returned& each : returned_) core_.sender().on_returned(each.peer, each.packets);
  returned_.clear();
}

void Carrier::returned(rel::PeerId peer, std::uint32_t packets) noexcept {
  if (door_ == Door::open)
    core_.sender().on_returned(peer, packets);
  else if (door_ == Door::later)
    returned_.push_back({peer, packets});
}

void Carrier::peer_lost(rel::PeerId peer) noexcept { lost_.push_back(peer); }

void Carrier::link_changed(rel::PeerId peer, rel::LinkId link, bool live) noexcept {
  links_.push_back({peer, link, live});
}

}  // namespace herald::p2p
