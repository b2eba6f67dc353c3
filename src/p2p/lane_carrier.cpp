// SPDX-License-Identifier: BSD-3-Clause
#include "p2p/lane_carrier.hpp"

#include <cstring>

namespace herald::p2p {

bool LaneCarrier::pump(rel::LaneId lane) noexcept {
  bool moved = false;
  while (core_.wants_to_cast(lane)) {
    const std::span<std::byte> room = lanes_->room(lane, wire::kLeastCast);
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

bool LaneCarrier::invite(rel::LaneId lane, std::uint64_t name, std::span<const PeerId> members) noexcept {
  const std::size_t bytes = sizeof(wire::InvitePacket) + members.size() * sizeof(std::uint32_t);
  if (core_.wants_to_cast(lane)) return false;
  const std::span<std::byte> room = lanes_->room(lane, wire::kLeastCast);
  if (room.size() < bytes) return false;
  wire::InvitePacket packet;
  packet.prefix = wire::p2p_prefix(wire::P2pKind::invite);
  packet.name = name;
  std::memcpy(room.data(), &packet, sizeof packet);
  std::size_t at = sizeof packet;
  for (const PeerId member : members) {
    const wire::Le<std::uint32_t> rank(static_cast<std::uint32_t>(member));
    std::memcpy(room.data() + at, &rank, sizeof rank);
    at += sizeof rank;
  }
  lanes_->commit(lane, bytes);
  return true;
}

bool LaneCarrier::dismiss(rel::LaneId lane) noexcept {
  const wire::DismissPacket packet{wire::p2p_prefix(wire::P2pKind::dismiss)};
  const std::span<std::byte> room = lanes_->room(lane, wire::kLeastCast);
  if (room.empty()) return false;
  std::memcpy(room.data(), &packet, sizeof packet);
  lanes_->commit(lane, sizeof packet);
  return true;
}

// True if the packet was one; who opens and closes lanes does so later, not while one of them calls us.
bool LaneCarrier::on_call(rel::LaneId lane, PeerId source, std::span<const std::byte> packet) noexcept {
  wire::P2pKind kind{};
  if (packet.size() < sizeof(wire::P2pPrefix)) return false;
  const std::uint8_t claimed = wire::as<wire::P2pPrefix>(packet).kind;
  if (claimed != static_cast<std::uint8_t>(wire::P2pKind::invite) &&
      claimed != static_cast<std::uint8_t>(wire::P2pKind::dismiss))
    return false;
  if (!wire::decode(packet, kind)) return false;
  Call call{lane, source, kind == wire::P2pKind::invite, 0, {}};
  if (call.opens) {
    call.name = wire::as<wire::InvitePacket>(packet).name;
    for (std::size_t at = sizeof(wire::InvitePacket); at < packet.size(); at += sizeof(std::uint32_t))
      call.members.push_back(
          static_cast<PeerId>(std::uint32_t{wire::as<wire::Le<std::uint32_t>>(packet.subspan(at))}));
  }
  calls_.push_back(std::move(call));
  return true;
}

Status LaneCarrier::deliver(rel::LaneId lane, rel::PeerId source,
                            std::span<const std::byte> packet) noexcept {
  if (on_call(lane, source, packet)) [[unlikely]]
    return Status::ok;
  Status status = Status::ok;
  switch (door_) {
    case Door::open: status = core_.on_packet(source, packet); break;
    case Door::later: status = Status::again; break;
    case Door::discard: break;
  }
  if (status != Status::ok) holds_ = true;
  return status;
}

void LaneCarrier::reachability_changed(rel::LaneId lane, rel::PeerId member, bool hears) noexcept {
  news_.push_back({lane, member, hears});
}

void LaneCarrier::member_lost(rel::LaneId, rel::PeerId member) noexcept { lost_.push_back(member); }

void LaneCarrier::losing_multicast(rel::LaneId, rel::PeerId source, std::uint32_t percent) noexcept {
  losses_.push_back({source, percent});
}

void LaneCarrier::address_changed(rel::LaneId lane, std::uint8_t move) noexcept {
  moves_.push_back({lane, move});
}

void LaneCarrier::forget(rel::LaneId lane) noexcept {
  std::erase_if(news_, [&](const News& one) { return one.lane == lane; });
  std::erase_if(moves_, [&](const Move& one) { return one.lane == lane; });
  std::erase_if(calls_, [&](const Call& one) { return one.lane == lane; });
}

}  // namespace herald::p2p
