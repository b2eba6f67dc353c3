// SPDX-License-Identifier: BSD-3-Clause
#include "engine/lanes.hpp"

#include "engine/clock.hpp"
#include "engine/net.hpp"
#include "engine/transport.hpp"

namespace herald::engine {

std::int32_t Lanes::open(std::uint64_t name, std::span<const p2p::PeerId> members) noexcept {
  return net_ != nullptr ? net_->open_lane(name, members) : -1;
}

void Lanes::close(std::int32_t lane) noexcept {
  if (net_ != nullptr && lane >= 0) node_.lanes().close(lane);
}

std::int32_t Lanes::open_sub_lane(std::int32_t whole, std::span<const p2p::PeerId> members) noexcept {
  return net_ != nullptr && whole >= 0 ? node_.lanes().open_sub_lane(whole, members) : -1;
}

std::uint64_t Lanes::proven_rate() const noexcept {
  return net_ != nullptr ? node_.lanes().lanes().counters().proven_rate : 0;
}

std::uint64_t Lanes::uplink_rate() const noexcept { return net_ != nullptr ? net_->uplink_rate : 0; }

std::uint64_t Lanes::interface_rate() const noexcept {
  return net_ != nullptr ? std::uint64_t{net_->slowest_mbit} * 125'000 : 0;
}

void Lanes::flush(std::int32_t lane) noexcept {
  (void)transport_.pump_lane(lane);
  transport_.complete();
}

void Lanes::start(p2p::FusedOp& op) noexcept {
  net_->start(read_clock(), op);
  transport_.complete();
}

}  // namespace herald::engine
