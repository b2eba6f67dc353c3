// SPDX-License-Identifier: BSD-3-Clause
// node/idle_probe.hpp: asks silent peers for a sign of life, some at a time, so that a dead one is found
// although nothing waits for it.
#pragma once
#include <optional>
#include <vector>

#include "base/instant.hpp"
#include "p2p/core.hpp"
#include "rel/mesh.hpp"
#include "rel/peer_liveness.hpp"

namespace herald::node {

class IdleProbe {
 public:
  void start(Duration detection) noexcept { every_ = {detection.ns / kProbesPerDetection}; }
  void add_peer(p2p::PeerId peer) { peers_.push_back(peer); }
  std::optional<Instant> next_deadline() const noexcept {
    if (peers_.empty()) return std::nullopt;
    return next_;
  }
  void on_time(Instant now, p2p::Core& core, rel::Mesh& mesh) noexcept {
    if (now < next_ || peers_.empty()) return;
    next_ = now + every_;
    for (std::size_t i = 0, probed = 0; i < peers_.size() && probed < kAtOnce; ++i) {
      const p2p::PeerId peer = peers_[place_];
      place_ = (place_ + 1) % peers_.size();
      if (core.is_gone(peer) || core.peers()[peer].may_end) continue;
      mesh.liveness().probe(now, peer);
      ++probed;
    }
  }

 private:
  static constexpr std::size_t kAtOnce = 64;
  static constexpr std::int64_t kProbesPerDetection = 4;
  Duration every_{};
  Instant next_{};
  std::vector<p2p::PeerId> peers_;
  std::size_t place_ = 0;
};

}  // namespace herald::node
