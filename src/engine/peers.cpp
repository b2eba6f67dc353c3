// SPDX-License-Identifier: BSD-3-Clause
#include "engine/peers.hpp"

#include <algorithm>
#include <utility>

#include "base/trace.hpp"
#include "engine/clock.hpp"
#include "engine/net.hpp"
#include "engine/self.hpp"

namespace herald::engine {
namespace {

constexpr Duration kCheckEvery = milliseconds(500);
constexpr int kCheckedAtOnce = 16;

}  // namespace

std::string Peers::host_of(p2p::PeerId peer) const {
  return net_ != nullptr && peer >= 0 ? std::string(net_->host_of(peer)) : host_name();
}

void Peers::report_death(p2p::PeerId peer) noexcept {
  if (peer_died_ != nullptr) peer_died_(peer);
}

void Peers::lose(p2p::PeerId peer) noexcept {
  process_trace.add(TraceEvent::peer_lost, std::uint64_t{0}, peer);
  if (is_gone(peer)) return;
  node_.on_peer_gone(peer);
  report_death(peer);
}

// Packets that a closed or dead peer wrote may still be in our inbox: they are delivered first.
void Peers::depart(p2p::PeerId peer) noexcept {
  if (std::find(departing_.begin(), departing_.end(), peer) == departing_.end()) departing_.push_back(peer);
}

void Peers::drain_departing() noexcept {
  for (const p2p::PeerId peer : std::exchange(local_.closed(), {})) depart(peer);
  for (const p2p::PeerId peer : std::exchange(departing_, {})) {
    if (!local_.is_drained(peer)) {
      departing_.push_back(peer);
      continue;
    }
    const bool died = !is_gone(peer) && !local_.has_closed(peer);
    node_.core().on_peer_gone(peer);
    if (died) report_death(peer);
  }
}

void Peers::check_local() noexcept {
  if (shm_ == nullptr) return;
  const Instant now = read_clock();
  if (now < next_check_) return;
  next_check_ = now + kCheckEvery;
  const auto all = static_cast<int>(node_.core().peers().size());  // processes of other jobs included
  for (int i = 0; i < std::min(all, kCheckedAtOnce); ++i) {
    const p2p::PeerId peer = next_checked_;
    next_checked_ = (next_checked_ + 1) % all;
    if (peer != rank_ && shm_->is_attached(peer) && !is_gone(peer) && !shm_->is_alive(peer)) depart(peer);
  }
}

}  // namespace herald::engine
