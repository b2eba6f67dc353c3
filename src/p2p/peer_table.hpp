// SPDX-License-Identifier: BSD-3-Clause
// p2p/peer_table.hpp: the peers of this process, those with something to send, and their control packets.
// References to a Peer are valid until add().
#pragma once
#include <cstring>
#include <new>
#include <span>
#include <vector>

#include "base/fatal.hpp"
#include "p2p/peer.hpp"

namespace herald::p2p {

class PeerTable {
 public:
  explicit PeerTable(std::int32_t peers) noexcept
      : peers_(static_cast<std::size_t>(peers)), count_(static_cast<std::size_t>(peers)) {}
  ~PeerTable();
  PeerTable(const PeerTable&) = delete;
  PeerTable& operator=(const PeerTable&) = delete;

  PeerId add() noexcept;  // one more, at run time
  std::size_t size() const noexcept { return count_; }
  bool has(PeerId id) const noexcept { return id >= 0 && static_cast<std::size_t>(id) < count_; }
  Peer& operator[](PeerId id) noexcept { return peers_[static_cast<std::size_t>(id)]; }
  const Peer& operator[](PeerId id) const noexcept { return peers_[static_cast<std::size_t>(id)]; }

  void want(Peer& to) noexcept {
    if (to.linked()) return;
    wanting_.push_back(to);
    ++wanting_count_;
  }
  void stop_wanting_if_idle(Peer& to) noexcept {
    if (!to.linked() || !to.control.empty() || !to.pushes.empty() || !to.streams.empty()) return;
    to.unlink();
    --wanting_count_;
  }
  std::size_t wanting() const noexcept { return wanting_count_; }
  // Round robin over the peers with something to send; -1: none.
  PeerId next_wanting() noexcept;

  // Control packets overtake all else to the peer. None goes to a peer that is gone.
  template <class Packet>
  void send_control(PeerId id, const Packet& packet) noexcept {
    static_assert(sizeof packet <= sizeof(ControlPacket::bytes));
    Peer& to = (*this)[id];
    if (to.gone) return;
    ControlPacket& item = make_control();
    item.size = sizeof packet;
    std::memcpy(item.bytes, &packet, sizeof packet);
    to.control.push_back(item);
    want(to);
  }
  std::size_t take_control(Peer& to, std::span<std::byte> room) noexcept {  // 0: none
    return to.control.empty() ? 0 : take_control_slow(to, room);
  }
  void drop_controls(Peer& to) noexcept;

 private:
  std::size_t take_control_slow(Peer& to, std::span<std::byte> room) noexcept;
  ControlPacket& make_control() noexcept {
    ControlPacket* item = free_controls_.pop_front();
    if (item == nullptr) item = new (std::nothrow) ControlPacket;
    HERALD_ASSERT(item != nullptr && "no memory for a control packet");
    return *item;
  }

  std::vector<Peer> peers_;  // the first count_ are in use
  std::size_t count_;
  List<Peer> wanting_;
  std::size_t wanting_count_ = 0;
  List<ControlPacket> free_controls_;
};

}  // namespace herald::p2p
