// SPDX-License-Identifier: BSD-3-Clause
// p2p/carrier.hpp: joins Core, which has packets for peers on other hosts, to rel::Mesh, which delivers them
// once and in order. The same object runs under the engine and under the simulator.
// In: peers with something to send; packets that the mesh delivers. Out: peers that are lost.
// Invariant: Core's completions do not run in here, so none calls the mesh while it delivers.
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

  // Packets that arrive go to Core; stay in the mesh, from the first that is no service call (the program
  // computes); or are dropped (Core is gone).
  enum class Door : std::uint8_t { open, later, discard };
  void set_open(Door door) noexcept;
  Door door() const noexcept { return door_; }

  // Moves packets for the peer from Core into the mesh until the window is closed. True if any moved.
  // Stops early where Sender::take_urgent() says so.
  bool pump(PeerId to) noexcept;
  // The same for all peers whose window has opened again.
  bool pump_ready() noexcept;

  // The next lost peer that was not taken yet; -1: none.
  PeerId take_lost() noexcept;
  struct LinkNews {
    PeerId peer;
    rel::LinkId link;
    bool live;
  };
  // Links that became live or dead since the last call.
  std::vector<LinkNews> take_links() noexcept { return std::exchange(links_, {}); }
  struct Silence {
    PeerId peer;
    bool heard;  // at least once, before
    bool ends;   // it answers again
  };
  std::vector<Silence> take_silences() noexcept { return std::exchange(silences_, {}); }
  struct SegmentNews {
    PeerId peer;
    rel::LinkId link;
    std::uint16_t bytes, full;
  };
  // Links that carry datagrams of another size than before.
  std::vector<SegmentNews> take_segments() noexcept { return std::exchange(segments_, {}); }
  bool has_news() const noexcept {
    return !lost_.empty() || !links_.empty() || !silences_.empty() || !segments_.empty();
  }

  Status deliver(rel::PeerId from, std::span<const std::byte> packet) noexcept override;
  void returned(rel::PeerId peer, std::uint32_t packets) noexcept override;
  void peer_lost(rel::PeerId peer) noexcept override;
  void peer_silent(rel::PeerId peer, bool heard) noexcept override {
    silences_.push_back({peer, heard, false});
  }
  void peer_answers(rel::PeerId peer) noexcept override { silences_.push_back({peer, true, true}); }
  void link_changed(rel::PeerId peer, rel::LinkId link, bool live) noexcept override;
  void segment_changed(rel::PeerId peer, rel::LinkId link, std::uint16_t bytes,
                       std::uint16_t full) noexcept override {
    segments_.push_back({peer, link, bytes, full});
  }

 private:
  Core& core_;
  rel::Mesh* mesh_ = nullptr;
  Door door_ = Door::open;
  struct Returned {
    PeerId peer;
    std::uint32_t packets;
  };
  std::vector<Returned> returned_;  // while the program computes
  std::vector<PeerId> lost_;
  std::vector<LinkNews> links_;
  std::vector<Silence> silences_;
  std::vector<SegmentNews> segments_;
};

}  // namespace herald::p2p
