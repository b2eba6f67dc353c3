// SPDX-License-Identifier: BSD-3-Clause
#include "engine/local_peers.hpp"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "base/fatal.hpp"
#include "engine/processors.hpp"

namespace herald::engine {
namespace {

constexpr int kDrainPackets = 64;           // of one inbox or ring in one turn
constexpr int kPumpPackets = 256;           // to one peer in one turn
constexpr std::uint64_t kInFirstLine = 16;  // bytes of a message in the cache line of its header

}  // namespace

LocalPeers::LocalPeers(int rank, int size, p2p::Core& core, LocalTraffic& traffic) noexcept
    : rank_(rank), size_(size), core_(core), traffic_(traffic), senders_(static_cast<std::size_t>(size)) {
  receivers_.set_peers(senders_.size());
}

bool LocalPeers::open_self(std::uint32_t cells, std::size_t packet_bytes) noexcept {
  if (!self_.open(cells, packet_bytes, static_cast<std::uint32_t>(senders_.size()))) return false;
  sender(rank_).open(&self_.inbox(), rank_);
  return true;
}

void LocalPeers::attach(path::ShmPath& shm, std::size_t rings) {
  shm_ = &shm;
  own_ = &shm.own();
  receivers_.reserve(rings + path::ForeignRings::kRings);
  for (int peer = 0; peer < static_cast<int>(senders_.size()); ++peer)
    if (peer != rank_) sender(peer).open(shm.peer(peer), rank_);
}

std::int64_t LocalPeers::remove(p2p::PeerId peer) noexcept {
  sender(peer).close();
  return receivers_.close(peer);
}

void LocalPeers::close() noexcept {
  own_ = nullptr;
  for (LocalSender& each : senders_) each.close();
  receivers_.clear();
}

void LocalPeers::ring(p2p::PeerId peer) noexcept {
  if (reaches(peer)) sender(peer).bell().ring_if_asleep();
}

bool LocalPeers::pump(p2p::PeerId peer, bool expects_many) noexcept {
  LocalSender& to = sender(peer);
  const bool to_self = peer == rank_;
  bool moved = false;
  if (expects_many && !to_self && to.expect_many()) {
    to.take_ring(*shm_, peer);
    moved = true;
  }
  for (int left = kPumpPackets; left != 0 && core_.wants_to_send(peer); --left) {
    if (!to_self && to.wants_ring()) to.take_ring(*shm_, peer);
    const std::span<std::byte> room = to.claim();
    if (room.empty()) {
      if (to.is_closed()) closed_.push_back(peer);
      if (to.damage() != nullptr) on_damage(peer, to.damage());
      break;
    }
    // Core may have nothing after all: the place is claimed, and an empty packet fills it.
    const std::size_t size = core_.poll_transmit(peer, room);
    to.publish(size);
    moved = true;
    if (!to_self && traffic_.add_packet(size)) drain_after_many(peer);
  }
  if (moved && !to_self) to.bell().ring_if_asleep();
  return moved;
}

template <class Send>
bool LocalPeers::write_packet(Send& send, std::uint64_t bytes) noexcept {
  const p2p::PeerId peer = send.to;
  LocalSender& to = sender(peer);
  if (!to.has_ring()) return false;
  path::RingWriter& ring = to.ring();
  ring.expect_claim();  // not earlier: the peer polls this line and would take it back
  if (!core_.sender().can_send_now(peer, bytes, to.packet_bytes())) return false;
  std::byte* const room =
      ring.claim(bytes > kInFirstLine ? path::RingShape::kPadded : path::RingShape::kWord);
  if (room == nullptr) return false;
  ring.hand_over(static_cast<std::uint32_t>(core_.sender().send_now(send, room)));
  to.bell().ring_if_asleep();
  LocalReceiver* const from = receivers_.of(peer);
  ring.prepare(from != nullptr && to.heard_since(from->ring.position()));
  if (traffic_.add_message(bytes)) [[unlikely]]
    drain_after_many(peer);
  return true;
}

bool LocalPeers::try_send(const p2p::ShortSend& send) noexcept { return write_packet(send, send.bytes); }

bool LocalPeers::try_send(p2p::SendOp& op) noexcept {
  return op.lane < 0 && op.mode != p2p::SendMode::synchronous && write_packet(op, op.data.total());
}

void LocalPeers::request_space() noexcept {
  for (std::size_t n = core_.peers().wanting(); n != 0; --n) {
    const p2p::PeerId peer = core_.peers().next_wanting();
    if (peer >= 0 && sender(peer).is_open()) sender(peer).request_space();
  }
}

bool LocalPeers::try_receive(p2p::RecvOp& op, int polls) noexcept {
  LocalReceiver* const from = op.awaited >= 0 ? receivers_.of(op.awaited) : nullptr;
  if (from == nullptr || draining_ || core_.sends_under_way() != 0 || core_.wants_to_send() ||
      core_.direct().busy())
    return false;
  path::RingReader& ring = from->ring;
  if (core_.ads().expects_long(op)) polls = 1;
  (void)ring.is_empty();  // begins to fetch the line that a message may have come in
  core_.start(op);
  for (; !op.done && polls > 0; --polls, relax()) {
    const std::span<const std::byte> packet = ring.front();
    if (packet.data() == nullptr) continue;
    if (core_.on_packet(op.awaited, packet) != Status::ok) break;
    if (ring.pop()) notify_space();
    core_.run_finished();
  }
  return true;
}

bool LocalPeers::drain(LocalReceiver& receiver) noexcept {
  bool notify = false;
  int taken = 0;
  for (; taken < kDrainPackets; ++taken) {
    const std::span<const std::byte> packet = receiver.ring.front();
    if (packet.data() == nullptr) {
      if (receiver.ring.damage() != nullptr) on_damage(receiver.from, receiver.ring.damage());
      break;
    }
    if (taken != 0)
      receiver.ring.look_ahead();
    else
      sender(receiver.from).expect_answer(receiver.ring.position());
    if (!deliver(receiver.from, packet)) break;  // later
    notify = receiver.ring.pop() || notify;
    if (!calls_only_) core_.run_finished();
  }
  if (notify) notify_space();
  return taken != 0;
}

bool LocalPeers::drain(path::Inbox& inbox) noexcept {
  int taken = 0;
  for (; taken < kDrainPackets; ++taken) {
    path::Cell* cell = inbox.front();
    const bool unknown = cell != nullptr && &inbox == own_ && (cell->from == rank_ || !reaches(cell->from));
    const bool misnamed = unknown && cell->from < size_;
    if (inbox.damage() != nullptr || misnamed)
      fatal("a rank of this host has damaged the shared memory of rank %d: %s", rank_,
            misnamed ? "a cell names a rank of another host" : inbox.damage());
    if (cell == nullptr) break;
    if (unknown) {  // a process of another job, which we have forgotten
      inbox.pop();
      continue;
    }
    if ((cell->size & path::Cell::kRing) != 0) {
      if (shm_ == nullptr || !receivers_.open(*shm_, cell->from, cell->size & ~path::Cell::kRing))
        on_damage(cell->from, "it announces a ring that does not exist");
      inbox.pop();
      continue;
    }
    const std::span<const std::byte> packet(cell->packet(),
                                            std::min<std::size_t>(cell->size, inbox.packet_bytes()));
    if (!deliver(cell->from, packet)) break;  // later
    inbox.pop();
    if (!calls_only_) core_.run_finished();
  }
  if (taken == 0) return false;
  inbox.notify_space(static_cast<std::uint64_t>(taken),
                     [this](std::uint32_t producer) { ring(static_cast<p2p::PeerId>(producer)); });
  return true;
}

// Rings first: what a peer wrote before it had a ring was taken from the inbox when the ring became known.
bool LocalPeers::drain(bool calls_only) noexcept {
  if (draining_) return false;
  draining_ = true;
  calls_only_ = calls_only;
  bool moved = drain(self_.inbox());
  if (own_ != nullptr) {
    receivers_.for_each([&](LocalReceiver& receiver) { moved = drain(receiver) || moved; });
    moved = drain(*own_) || moved;
  }
  draining_ = calls_only_ = false;
  return moved;
}

bool LocalPeers::drain_from(p2p::PeerId peer) noexcept {
  if (draining_ || own_ == nullptr) return false;
  draining_ = true;
  LocalReceiver* const from = receivers_.of(peer);
  const bool moved = from != nullptr ? drain(*from) : drain(*own_);
  draining_ = false;
  return moved;
}

// A rank that only sends learns whether the peer wants it to pause.
[[gnu::noinline]] void LocalPeers::drain_after_many(p2p::PeerId peer) noexcept {
  traffic_.on_many();
  (void)drain_from(peer);
}

bool LocalPeers::is_drained(p2p::PeerId peer) noexcept {
  LocalReceiver* const from = receivers_.of(peer);
  return own_ == nullptr || (own_->is_empty() && (from == nullptr || from->ring.is_empty()));
}

bool LocalPeers::has_news() noexcept {
  return self_.inbox().front() != nullptr || (own_ != nullptr && own_->front() != nullptr) ||
         receivers_.has_news();
}

// The peer is treated as closed: nothing of it is read any more, and operations with it fail.
void LocalPeers::on_damage(p2p::PeerId peer, const char* damage) noexcept {
  if (std::find(damaged_.begin(), damaged_.end(), peer) != damaged_.end()) return;
  std::fprintf(stderr, "herald: rank %d: rank %d's shared memory is damaged: %s\n", rank_, peer, damage);
  damaged_.push_back(peer);
  closed_.push_back(peer);
}

void LocalPeers::notify_space() noexcept {
  own_->notify_all([this](std::uint32_t producer) { ring(static_cast<p2p::PeerId>(producer)); });
}

// A peer with a full inbox finds ours closed when it looks.
void LocalPeers::say_goodbye() noexcept {
  own_->close();
  notify_space();
  const wire::GoodbyePacket packet{wire::p2p_prefix(wire::P2pKind::goodbye)};
  for (int peer = 0; peer < static_cast<int>(senders_.size()); ++peer) {
    if (peer == rank_ || core_.is_gone(peer) || !sender(peer).is_open()) continue;
    const std::span<std::byte> room = sender(peer).claim();
    if (room.empty()) continue;
    std::memcpy(room.data(), &packet, sizeof packet);
    sender(peer).publish(sizeof packet);
  }
}

}  // namespace herald::engine
