// SPDX-License-Identifier: BSD-3-Clause
// rel/peer_table.hpp: the peers of a process by their ids. It grows when peers come later; a peer costs a
// pointer and a byte until it is used.
#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "rel/connection.hpp"
#include "rel/mesh.hpp"

namespace herald::rel {

class PeerTable {
 public:
  explicit PeerTable(const MeshConfig& config) noexcept;

  void add(PeerId peer, LinkId links, const std::optional<PairIdentity>& pair) noexcept;

  Connection* find(std::int64_t peer) const noexcept {  // null: never used, or no peer
    return is_inside(peer) ? connections_[static_cast<std::size_t>(peer)] : nullptr;
  }
  // Made at the first use; null: no peer, or forgotten before it was used.
  Connection* obtain(std::int64_t peer) noexcept {
    Connection* const found = find(peer);
    return found != nullptr || !is_known(peer) ? found : make(static_cast<PeerId>(peer), job_seal_);
  }
  // A peer without connection will not get one any more.
  void forget(PeerId peer) noexcept {
    if (is_known(peer)) links_[static_cast<std::size_t>(peer)] = kForgotten;
  }
  bool is_forgotten(std::int64_t peer) const noexcept {
    return is_inside(peer) && links_[static_cast<std::size_t>(peer)] == kForgotten;
  }
  // By peer; null: never used.
  std::span<Connection* const> all() const noexcept { return connections_; }
  // Checks a datagram under the key, and with the numbers, of the sender that its head names.
  wire::Opened open(std::span<const std::byte> datagram, wire::DatagramView& view) const noexcept;
  void open(std::span<wire::OpenedDatagram> all) const noexcept;

 private:
  static constexpr std::size_t kBlock = 16;  // connections allocated at once, because each alone costs more
  static constexpr LinkId kForgotten = 0xff;

  bool is_inside(std::int64_t peer) const noexcept {
    return peer >= 0 && peer < static_cast<std::int64_t>(connections_.size());
  }
  bool is_known(std::int64_t peer) const noexcept {
    return is_inside(peer) && links_[static_cast<std::size_t>(peer)] != 0 && !is_forgotten(peer);
  }
  Connection* make(PeerId peer, const PeerSeal& seal) noexcept;
  const PeerSeal& seal_of(std::span<const std::byte> datagram) const noexcept;
  wire::UpperHalves upper_halves(std::span<const std::byte> datagram) const noexcept;
  WholeSeq first_number() const noexcept { return UpperHalf(config_.first_upper).with(config_.first_seq); }

  const MeshConfig& config_;
  std::vector<Connection*> connections_;  // by peer
  std::vector<LinkId> links_;             // by peer; 0: shares our memory, or not a peer yet
  std::vector<std::unique_ptr<Connection[]>> blocks_;
  std::size_t made_ = 0;
  const PeerSeal job_seal_;
  std::deque<PeerSeal> pair_seals_;  // of peers with a key of their own
};

}  // namespace herald::rel
