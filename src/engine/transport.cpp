// SPDX-License-Identifier: BSD-3-Clause
#include "engine/transport.hpp"

#include "engine/clock.hpp"
#include "engine/net.hpp"

namespace herald::engine {

bool Transport::pump(p2p::PeerId peer) noexcept {
  if (is_remote(peer)) return !closed_ && !core_.is_gone(peer) && net_->pump(read_clock(), peer);
  if (!local_.reaches(peer)) {  // no path, or closed
    core_.on_peer_gone(peer);
    return true;
  }
  const bool moved = local_.pump(peer);
  if (moved && peer == rank_) waiter_.wake();
  return moved;
}

bool Transport::pump_lane(std::int32_t lane) noexcept { return net_->pump_lane(read_clock(), lane); }

void Transport::introduce(p2p::PeerId peer) noexcept {
  if (is_remote(peer)) node_.mesh().liveness().probe(read_clock(), peer);
}

bool Transport::pump_all() noexcept {
  bool moved = false;
  for (std::size_t n = core_.peers().wanting(); n != 0; --n) {
    const p2p::PeerId peer = core_.peers().next_wanting();
    if (peer < 0) break;
    moved = pump(peer) || moved;
  }
  return moved;
}

// Packets in which the two sides agree on the copy leave at once.
bool Transport::move_direct() noexcept {
  if (!core_.direct().advance(*memory_.mover())) return false;
  if (core_.wants_to_send()) pump_all();
  core_.run_finished();
  return true;
}

}  // namespace herald::engine
