// SPDX-License-Identifier: BSD-3-Clause
// p2p/carrier.hpp: joins Core, which has packets for peers on other hosts, to rel::Mesh, which brings them
// there each once and in order. The same object runs under the engine and under the simulator. In:  "there
// may be something to send"; what the mesh delivers. Out: peers that are lost, kept until take_lost().
// Invariant: Core's completions are not run in here, so nobody calls the mesh while it delivers.
#pragma once
#include <utility>
#include <vector>

#include "p2p/core.hpp"
#include "rel/mesh.hpp"

namespace herald::p2p {

class Carrier final : public rel::Listener {
 public:
  explicit Carrier(Core& core) noexcept : core_(core) {}
  void join(rel::Mesh& mesh) noexcept { mesh_ = &mesh; }

  // What becomes of packets that come: Core gets them; the mesh keeps them (Core must not be touched now); or
  // they are thrown away (Core is gone).
  enum class Door : std::uint8_t { open, later, discard };
  void set_open(Door door) noexcept;
  Door door() const noexcept { return door_; }

  // Moves packets for the peer from Core into the mesh until the window is closed. True if any moved.
  // Stops early where it is better to transmit first.
  bool pump(PeerId to) noexcept;
  bool take_stopped() noexcept { return std::exchange(stopped_, false); }
  // The same for all peers whose window has opened again.
  bool pump_ready() noexcept;

  // The next peer that was lost and not taken yet; -1: none.
  PeerId take_lost() noexcept;
  struct LinkNews {
    PeerId peer;
    rel::LinkId link;
    bool live;
  };
  // Links that came or went since the last call.
  std::vector<LinkNews> take_links() noexcept { return std::exchange(links_, {}); }
  bool has_news() const noexcept { return !lost_.empty() || !links_.empty(); }

  Status deliver(rel::PeerId from, std::span<const std::byte> packet) noexcept override;
  void returned(rel::PeerId peer, std::uint32_t packets) noexcept override;
  void peer_lost(rel::PeerId peer) noexcept override;
  void link_changed(rel::PeerId peer, rel::LinkId link, bool live) noexcept override;

 private:
  Core& core_;
  rel::Mesh* mesh_ = nullptr;
  Door door_ = Door::open;
  bool stopped_ = false;
  struct Returned {
    PeerId peer;
    std::uint32_t packets;
  };
  std::vector<Returned> returned_;  // while Core must not be touched
  std::vector<PeerId> lost_;
  std::vector<LinkNews> links_;
};

}  // namespace herald::p2p
