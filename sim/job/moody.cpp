// SPDX-License-Identifier: BSD-3-Clause
// sim/job/moody.cpp: what stands between mesh and carrier, and now and then refuses or lies.
#include "sim/job/process.hpp"
#include "sim/net/chance.hpp"

namespace herald::sim {

Status Moody::deliver(rel::PeerId from, std::span<const std::byte> packet) noexcept {
  refused_ = happens(chance_, refuses_);
  ++asked_;
  if (refused_) return Status::again;
  if (betrayal_ != Betrayal::none) return betray(from, {packet.begin(), packet.end()});
  return next_.deliver(from, packet);
}

Status Moody::betray(rel::PeerId from, std::vector<std::byte> packet) {
  const bool now = ++packets_ == 10;
  if (now && betrayal_ == Betrayal::drop) return Status::ok;
  if (now && betrayal_ == Betrayal::flip) packet.back() ^= std::byte{1};
  if (now && betrayal_ == Betrayal::swap) {
    kept_.swap(packet);
    kept_from_ = from;
    return Status::ok;
  }
  const Status status = next_.deliver(from, packet);
  if (now && betrayal_ == Betrayal::twice) return next_.deliver(from, packet);
  if (!kept_.empty() && from == kept_from_) {
    packet.swap(kept_);
    kept_.clear();
    return next_.deliver(from, packet);
  }
  return status;
}

}  // namespace herald::sim
