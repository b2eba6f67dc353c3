// SPDX-License-Identifier: BSD-3-Clause
// engine/local_sender.hpp: where packets for one peer of this host go. They first go to the peer's inbox,
// which all local peers share. A sender of several packets, or of several to come, takes one of the peer's
// rings, if one is left, announces it in the inbox, and writes there from then on; so the order holds.
#pragma once
#include <utility>

#include "path/inbox.hpp"
#include "path/pair_ring.hpp"
#include "path/shm/shm.hpp"

namespace herald::engine {

class LocalSender {
 public:
  // `self`: our number in the tables of the peer.
  void open(path::Inbox* inbox, int self) noexcept {
    inbox_ = inbox;
    self_ = self;
  }
  void close() noexcept { *this = LocalSender(); }
  bool is_open() const noexcept { return inbox_ != nullptr; }
  bool has_ring() const noexcept { return ring_.is_open(); }
  path::RingWriter& ring() noexcept { return ring_; }

  std::size_t packet_bytes() const noexcept { return inbox_->packet_bytes(); }
  path::Doorbell& bell() noexcept { return inbox_->bell(); }
  bool is_closed() const noexcept { return inbox_ == nullptr || inbox_->is_closed(); }
  const char* damage() const noexcept { return ring_.damage(); }
  // Asks the peer to ring when there is room; the caller then tries once more.
  void request_space() noexcept { inbox_->request_space(static_cast<std::uint32_t>(self_)); }

  // Room for the longest packet; empty: full. The caller publishes what it claimed, empty if need be.
  std::span<std::byte> claim() noexcept {
    std::byte* room = nullptr;
    if (ring_.is_open())
      room = ring_.claim();
    else if ((cell_ = inbox_->claim(position_)) != nullptr)
      room = cell_->packet();
    return {room, room == nullptr ? 0 : inbox_->packet_bytes()};
  }
  void publish(std::size_t size) noexcept {
    if (ring_.is_open())
      ring_.publish(static_cast<std::uint32_t>(size));
    else
      inbox_->publish(*cell_, position_, self_, static_cast<std::uint32_t>(size));
  }

  // The peer has sent since the last question: it is likely to wait for an answer.
  bool heard_since(std::uint64_t position) noexcept { return std::exchange(heard_, position) != position; }

  // The peer has sent, at this position. A peer that got an answer before is likely to get one now.
  void expect_answer(std::uint64_t position) const noexcept {
    if (heard_ == position) ring_.expect_claim();
  }

  // True once, after so many packets that a ring pays.
  bool wants_ring() noexcept { return !ring_.is_open() && sent_ <= kBeforeRing && ++sent_ == kBeforeRing; }
  // True once: the packets are known to come.
  bool expect_many() noexcept {
    if (ring_.is_open() || sent_ >= kBeforeRing) return false;
    sent_ = kBeforeRing;
    return true;
  }
  void take_ring(path::ShmPath& shm, int peer) noexcept {
    cell_ = inbox_->claim(position_);
    std::uint32_t index = 0;
    if (cell_ == nullptr) {
      sent_ = 0;  // later
      return;
    }
    const bool given = shm.take_ring(peer, ring_, index);
    inbox_->publish(*cell_, position_, self_, given ? path::Cell::kRing | index : 0);
  }

 private:
  static constexpr std::uint32_t kBeforeRing = 8;

  path::Inbox* inbox_ = nullptr;
  path::RingWriter ring_;
  path::Cell* cell_ = nullptr;  // claimed
  std::uint64_t position_ = 0;
  std::uint64_t heard_ = 0;  // position in the ring from there
  std::uint32_t sent_ = 0;
  int self_ = -1;
};

}  // namespace herald::engine
