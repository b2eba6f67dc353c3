// SPDX-License-Identifier: BSD-3-Clause
// engine/local_peers.hpp: packets between this process and the ranks of its host, itself included: writes
// what Core wants to send straight into their memory, and hands what they wrote to Core.
#pragma once
#include <memory>
#include <utility>
#include <vector>

#include "engine/local_receivers.hpp"
#include "engine/local_sender.hpp"
#include "engine/local_traffic.hpp"
#include "p2p/core.hpp"
#include "path/self/self.hpp"
#include "path/shm/shm.hpp"

namespace herald::engine {

class LocalPeers {
 public:
  LocalPeers(int rank, int size, p2p::Core& core, LocalTraffic& traffic) noexcept;
  LocalPeers(const LocalPeers&) = delete;
  LocalPeers& operator=(const LocalPeers&) = delete;

  bool open_self(std::uint32_t cells, std::size_t packet_bytes) noexcept;
  void attach(path::ShmPath& shm, std::size_t rings);
  void close() noexcept;
  // There are so many peers now; those that came are not on this host before add().
  void grow(std::size_t peers) {
    senders_.resize(peers);
    receivers_.set_peers(peers);
  }

  // A process of another job that shm has attached, and our number there. remove(): nothing of it is read any
  // more; the number of the ring that it wrote to, -1: none.
  void add(p2p::PeerId peer, int self) noexcept { sender(peer).open(shm_->peer(peer), self); }
  std::int64_t remove(p2p::PeerId peer) noexcept;

  bool reaches(p2p::PeerId peer) const noexcept {
    return peer >= 0 && static_cast<std::size_t>(peer) < senders_.size() &&
           senders_[static_cast<std::size_t>(peer)].is_open();
  }
  bool has_closed(p2p::PeerId peer) const noexcept {
    return senders_[static_cast<std::size_t>(peer)].is_closed();
  }
  path::Doorbell& doorbell() noexcept { return own_ != nullptr ? own_->bell() : self_.inbox().bell(); }
  void ring(p2p::PeerId peer) noexcept;

  // Writes packets of Core for the peer, until its memory is full or it is another peer's turn.
  // `expects_many`: takes a ring at once, if one is left.
  bool pump(p2p::PeerId peer, bool expects_many = false) noexcept;
  // The same for a message of one packet that nothing waits before. False: nothing happened.
  bool try_send(p2p::SendOp& op) noexcept;
  bool try_send(const p2p::ShortSend& send) noexcept;
  // Asks the receivers of packets that wait to ring when they have room.
  void request_space() noexcept;

  // `calls_only`: the program computes; of each peer the service calls that precede other packets.
  bool drain(bool calls_only = false) noexcept;
  bool drain_from(p2p::PeerId peer) noexcept;
  // Starts a receive and polls the ring of its sender for its message. False: nothing happened.
  bool try_receive(p2p::RecvOp& op, int polls) noexcept;
  bool has_news() noexcept;
  bool is_drained(p2p::PeerId peer) noexcept;

  // Tells all that we read no more. Nobody is woken or waited for.
  void say_goodbye() noexcept;
  // Peers that were seen to be closed; the caller takes them.
  std::vector<p2p::PeerId>& closed() noexcept { return closed_; }

 private:
  LocalSender& sender(p2p::PeerId peer) noexcept { return senders_[static_cast<std::size_t>(peer)]; }
  template <class Send>
  bool write_packet(Send& send, std::uint64_t bytes) noexcept;
  bool drain(path::Inbox& inbox) noexcept;
  bool drain(LocalReceiver& receiver) noexcept;
  void drain_after_many(p2p::PeerId peer) noexcept;
  bool deliver(p2p::PeerId from, std::span<const std::byte> packet) noexcept {
    if (packet.empty()) return true;
    if (calls_only_ && !wire::is_service(packet)) return false;
    return core_.on_packet(from, packet) == Status::ok;
  }
  void notify_space() noexcept;
  void on_damage(p2p::PeerId peer, const char* damage) noexcept;

  const int rank_, size_;
  p2p::Core& core_;
  LocalTraffic& traffic_;
  path::SelfPath self_;
  path::ShmPath* shm_ = nullptr;
  path::Inbox* own_ = nullptr;        // in shared memory; null: none
  std::vector<LocalSender> senders_;  // by peer; not open: not on this host
  LocalReceivers receivers_;
  std::vector<p2p::PeerId> closed_;
  std::vector<p2p::PeerId> damaged_;  // their shared memory was reported
  bool draining_ = false;
  bool calls_only_ = false;  // completions wait for the program
};

}  // namespace herald::engine
