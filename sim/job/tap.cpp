// SPDX-License-Identifier: BSD-3-Clause
#include "sim/job/tap.hpp"

#include "sim/net/chance.hpp"

namespace herald::sim {

Status UnicastTap::deliver(rel::PeerId from, std::span<const std::byte> packet) noexcept {
  ++offered_;
  if (happens(chance_, config_.refuses)) return Status::again;
  if (config_.corruption != Corruption::none) return corrupt(from, {packet.begin(), packet.end()});
  return next_->deliver(from, packet);
}

Status UnicastTap::corrupt(rel::PeerId from, std::vector<std::byte> packet) {
  const bool now = ++packets_ == 10;
  if (now && config_.corruption == Corruption::drop) return Status::ok;
  if (now && config_.corruption == Corruption::flip) packet.back() ^= std::byte{1};
  if (now && config_.corruption == Corruption::swap) {
    kept_.swap(packet);
    kept_from_ = from;
    return Status::ok;
  }
  const Status status = next_->deliver(from, packet);
  if (now && config_.corruption == Corruption::twice) return next_->deliver(from, packet);
  if (!kept_.empty() && from == kept_from_) {
    packet.swap(kept_);
    kept_.clear();
    return next_->deliver(from, packet);
  }
  return status;
}

Status MulticastTap::deliver(rel::LaneId lane, rel::PeerId source,
                             std::span<const std::byte> packet) noexcept {
  if (happens(chance_, refuses_)) return Status::again;
  const Status status = next_->deliver(lane, source, packet);
  if (status == Status::ok) ++taken_;
  return status;
}

}  // namespace herald::sim
