// SPDX-License-Identifier: BSD-3-Clause
#include "p2p/peer_table.hpp"

#include <algorithm>

namespace herald::p2p {
namespace {

template <class T>
void move_all(List<T>& from, List<T>& to) noexcept {
  while (T* item = from.pop_front()) to.push_back(*item);
}

// All but the link among the wanting peers.
void move_peer(Peer& from, Peer& to) noexcept {
  move_all(from.control, to.control);
  move_all(from.pushes, to.pushes);
  move_all(from.streams, to.streams);
  move_all(from.arriving, to.arriving);
  to.next_seq = from.next_seq;
  to.push_left = from.push_left;
  to.consumed = from.consumed;
  to.borrowed = from.borrowed;
  to.returned = from.returned;
  to.unexpected_bytes = from.unexpected_bytes;
  to.header_slot = from.header_slot;
  to.remote = from.remote;
  to.direct = from.direct;
  to.gone = from.gone;
  to.paused = from.paused;
  to.paused_by_peer = from.paused_by_peer;
  to.may_end = from.may_end;
}

}  // namespace

PeerTable::~PeerTable() {
  for (Peer& each : peers_)
    while (ControlPacket* item = each.control.pop_front()) delete item;
  while (ControlPacket* item = free_controls_.pop_front()) delete item;
}

// Peers hold the heads of lists, so that growing moves them item by item.
PeerId PeerTable::add() noexcept {
  if (count_ == peers_.size()) {
    std::vector<Peer> larger(std::max<std::size_t>(count_ * 2, 8));
    for (std::size_t i = 0; i < count_; ++i) move_peer(peers_[i], larger[i]);
    List<Peer> wanting;
    while (Peer* each = wanting_.pop_front())
      wanting.push_back(larger[static_cast<std::size_t>(each - peers_.data())]);
    peers_.swap(larger);
    move_all(wanting, wanting_);
  }
  return static_cast<PeerId>(count_++);
}

PeerId PeerTable::next_wanting() noexcept {
  Peer* first = wanting_.pop_front();
  if (first == nullptr) return -1;
  wanting_.push_back(*first);
  return static_cast<PeerId>(first - peers_.data());
}

std::size_t PeerTable::take_control_slow(Peer& to, std::span<std::byte> room) noexcept {
  ControlPacket* item = to.control.pop_front();
  std::memcpy(room.data(), item->bytes, item->size);
  free_controls_.push_front(*item);
  return item->size;
}

void PeerTable::drop_controls(Peer& to) noexcept {
  while (ControlPacket* item = to.control.pop_front()) free_controls_.push_front(*item);
}

}  // namespace herald::p2p
