// SPDX-License-Identifier: BSD-3-Clause
#include "p2p/lane_carrier.hpp"

namespace herald::p2p {

bool LaneCarrier::pump(rel::LaneId lane) noexcept {
  bool moved = false;
  while (core_.casts().wants_to_send(lane)) {
    const std::span<std::byte> room = lanes_->room(lane, wire::kMinCast);
    if (room.empty()) break;
    lanes_->commit(lane, core_.casts().poll_transmit(lane, room));
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

LaneCarrier::LaneCarrier(Core& core) noexcept : core_(core) {
  core_.services().register_handler(ServiceId::lane_invite, {on_invite, nullptr, this, true});
  core_.services().register_handler(ServiceId::lane_dismiss, {on_dismiss, nullptr, this, true});
}

LaneCarrier::~LaneCarrier() {
  core_.services().register_handler(ServiceId::lane_invite, {});
  core_.services().register_handler(ServiceId::lane_dismiss, {});
}

bool LaneCarrier::invite(rel::LaneId lane, std::uint64_t name, std::span<const PeerId> members) noexcept {
  if (core_.casts().wants_to_send(lane)) return false;
  const wire::LaneInviteHeader header{name};
  std::vector<wire::Le<std::uint32_t>> ranks;
  for (const PeerId member : members) ranks.emplace_back(static_cast<std::uint32_t>(member));
  return send_call(lane, ServiceId::lane_invite, std::as_bytes(std::span(&header, 1)),
                   std::as_bytes(std::span(ranks)));
}

bool LaneCarrier::dismiss(rel::LaneId lane) noexcept {
  return send_call(lane, ServiceId::lane_dismiss, {}, {});
}

bool LaneCarrier::send_call(rel::LaneId lane, ServiceId id, std::span<const std::byte> header,
                            std::span<const std::byte> payload) noexcept {
  const std::size_t bytes = Services::write_packet(id, header, payload, lanes_->room(lane, wire::kMinCast));
  if (bytes != 0) lanes_->commit(lane, bytes);
  return bytes != 0;
}

// The registry opens and closes lanes later, not while one of them delivers. A call that did not come over a
// lane is malformed.
bool LaneCarrier::on_invite(void* carrier, const ServiceCall& call, type::Cursor&) noexcept {
  auto& self = *static_cast<LaneCarrier*>(carrier);
  constexpr std::size_t kRank = sizeof(std::uint32_t);
  if (self.receiving_lane_ < 0 || call.header.size() != sizeof(wire::LaneInviteHeader) ||
      call.payload.size() % kRank != 0 || call.bulk_bytes != 0)
    return false;
  Call invite{self.receiving_lane_, call.from, true, wire::as<wire::LaneInviteHeader>(call.header).name, {}};
  for (std::size_t at = 0; at < call.payload.size(); at += kRank)
    invite.members.push_back(
        static_cast<PeerId>(std::uint32_t{wire::as<wire::Le<std::uint32_t>>(call.payload.subspan(at))}));
  self.calls_.push_back(std::move(invite));
  return true;
}

bool LaneCarrier::on_dismiss(void* carrier, const ServiceCall& call, type::Cursor&) noexcept {
  auto& self = *static_cast<LaneCarrier*>(carrier);
  if (self.receiving_lane_ < 0 || !call.header.empty() || !call.payload.empty() || call.bulk_bytes != 0)
    return false;
  self.calls_.push_back({self.receiving_lane_, call.from, false, 0, {}});
  return true;
}

Status LaneCarrier::deliver(rel::LaneId lane, rel::PeerId source,
                            std::span<const std::byte> packet) noexcept {
  Status status = Status::ok;
  switch (door_) {
    case Door::open:
      receiving_lane_ = lane;
      status = core_.on_packet(source, packet);
      receiving_lane_ = -1;
      break;
    case Door::later: status = Status::again; break;
    case Door::discard: break;
  }
  if (status != Status::ok) holds_ = true;
  return status;
}

void LaneCarrier::reachability_changed(rel::LaneId lane, rel::PeerId member, bool hears) noexcept {
  news_.push_back({lane, member, hears});
}

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
