// SPDX-License-Identifier: BSD-3-Clause
// engine/rings.cpp: what the loop does with the rings between two ranks of this host: the short way of
// messages that are one packet, and the readers' side.
#include <algorithm>

#include "base/fatal.hpp"
#include "engine/loop.hpp"

namespace herald::engine {
namespace {

constexpr int kShortTurns = 16;               // receives by the short way without a turn for others
constexpr int kShortLooks = 100;              // about two microseconds
constexpr std::uint64_t kSendsUnheard = 256;  // by the short way without a look at what the peer says
constexpr std::uint64_t kWeightBytes = 1024;  // and so many bytes count as one more
constexpr std::uint64_t kInWordLine = 16;     // bytes of a message that fit into the line with its head

}  // namespace

// Where a message that fits into one packet can be written at once; null: it has to wait its turn.
std::byte* Loop::claim_now(Outlet& to, p2p::PeerId peer, std::uint64_t bytes) noexcept {
  if (!to.has_ring() || !core_.can_push_now(peer, bytes, to.packet_bytes())) return nullptr;
  return to.ring().claim(bytes > kInWordLine ? path::RingShape::kPadded : path::RingShape::kWord);
}

void Loop::publish_now(Outlet& to, p2p::PeerId peer, std::size_t size) noexcept {
  to.ring().hand_over(static_cast<std::uint32_t>(size));
  to.bell().ring_if_asleep();
  const int at = inlet_of_[static_cast<std::size_t>(peer)];
  to.ring().prepare(at >= 0 && to.hears(inlets_[static_cast<std::size_t>(at)].ring.position()));
}

bool Loop::send_now(const p2p::ShortSend& what) noexcept {
  if (is_remote(what.to)) return !closed_ && net_->send_now(now(), what);
  Outlet& to = outlet(what.to);
  std::byte* room = claim_now(to, what.to, what.bytes);
  if (room == nullptr) return false;
  publish_now(to, what.to, core_.push_now(what, room));
  listen_now_and_then(what.to, what.bytes);
  return true;
}

bool Loop::push_now(p2p::SendOp& op) noexcept {
  if (op.lane >= 0 || op.mode == p2p::SendMode::synchronous) return false;
  const p2p::PeerId peer = op.to;
  const std::uint64_t bytes = op.data.total();
  Outlet& to = outlet(peer);
  std::byte* room = claim_now(to, peer, bytes);
  if (room == nullptr) return false;
  publish_now(to, peer, core_.push_now(op, room));
  settle();
  listen_now_and_then(peer, bytes);
  return true;
}

// The short way of a receive: its message is the next thing in the ring of the peer it waits for. Others get
// their turn now and then.
bool Loop::receive_now(p2p::RecvOp& op) noexcept {
  const int at = op.awaited >= 0 ? inlet_of_[static_cast<std::size_t>(op.awaited)] : -1;
  if (at < 0 || in_turn_ || lock_.others_want_it() || !hooks_.empty() || !departing_.empty()) return false;
  if (++short_turns_ > kShortTurns) {
    short_turns_ = 0;
    progress();
  }
  if (!core_.waits_for_nothing(op)) return false;
  path::RingReader& ring = inlets_[static_cast<std::size_t>(at)].ring;
  for (int looks = spin_.spin_us != 0 ? kShortLooks : 1;; relax()) {
    const std::span<const std::byte> packet = ring.front();
    if (packet.data() != nullptr) {
      outlet(op.awaited).expect_answer(ring.position());
      if (!core_.receive_now(op, packet)) return false;
      if (ring.pop()) feed_all();
      slept_in_vain_ = false;
      return true;
    }
    if (--looks <= 0 || (looks == kShortLooks - 1 && core_.expects_long(op))) return false;
  }
}

bool Loop::drain(Inlet& inlet) noexcept {
  bool feed = false;
  int taken = 0;
  for (; taken < kDrainPackets; ++taken) {
    const std::span<const std::byte> packet = inlet.ring.front();
    if (packet.data() == nullptr) break;
    if (taken != 0)
      inlet.ring.look_ahead();
    else
      outlet(inlet.from).expect_answer(inlet.ring.position());
    if (!packet.empty() && core_.on_packet(inlet.from, packet) != Status::ok) break;  // later
    feed = inlet.ring.pop() || feed;
    core_.run_finished();
  }
  if (feed) feed_all();
  return taken != 0;
}

// What has come already need not be waited for: who starts a receive may not be here again for long.
void Loop::look_for(const p2p::RecvOp& op) noexcept {
  const int at = inlet_of_[static_cast<std::size_t>(op.awaited)];
  if (at >= 0) (void)drain(inlets_[static_cast<std::size_t>(at)]);
}

// Who only sends hears whether it is too much for the peer.
void Loop::listen_now_and_then(p2p::PeerId peer, std::uint64_t bytes) noexcept {
  unheard_ += 1 + bytes / kWeightBytes;
  if (unheard_ <= kSendsUnheard) return;
  unheard_ = 0;
  if (in_turn_ || own_ == nullptr) return;
  const int at = inlet_of_[static_cast<std::size_t>(peer)];
  if (at >= 0)
    (void)drain(inlets_[static_cast<std::size_t>(at)]);
  else
    (void)drain(*own_);
}

// Rings first: what a peer wrote before it had one was taken from the inbox when its ring became known.
bool Loop::drain_all() noexcept {
  bool moved = false;
  for (Inlet& inlet : inlets_) moved = drain(inlet) || moved;
  return drain(*own_) || moved;
}

// Nothing that this peer has written is still to be read.
bool Loop::is_drained(p2p::PeerId peer) const noexcept {
  const int at = inlet_of_[static_cast<std::size_t>(peer)];
  return own_ == nullptr ||
         (own_->is_empty() && (at < 0 || inlets_[static_cast<std::size_t>(at)].ring.is_empty()));
}

// Somebody has written to us, we ourselves perhaps.
bool Loop::has_news() noexcept {
  return self_.inbox().front() != nullptr || (own_ != nullptr && own_->front() != nullptr) ||
         std::any_of(inlets_.begin(), inlets_.end(), [](const Inlet& each) { return !each.ring.is_empty(); });
}

void Loop::open_inlet(p2p::PeerId from, std::uint32_t index) noexcept {
  HERALD_ASSERT(shm_ && from >= 0 && from < size_ && from != rank_ && shm_->has_ring(index) &&
                inlet_of_[static_cast<std::size_t>(from)] < 0 &&
                "the number of a ring in shared memory is damaged");
  inlet_of_[static_cast<std::size_t>(from)] = static_cast<int>(inlets_.size());
  inlets_.push_back({shm_->ring(index), from});
}

// Cells and lines have been given back: who waits for them is rung.
void Loop::feed_all() noexcept {
  own_->feed_all([this](std::uint32_t producer) { ring_hungry(static_cast<p2p::PeerId>(producer)); });
}

void Loop::ring_hungry(p2p::PeerId peer) noexcept {
  if (outlet(peer).is_open()) outlet(peer).bell().ring_if_asleep();
}

}  // namespace herald::engine
