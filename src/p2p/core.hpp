// SPDX-License-Identifier: BSD-3-Clause
// p2p/core.hpp: point-to-point messages of one process: matching in MPI order, and push-pull (papers, 002).
// In:  operations that the caller starts; packets from peers, in order per peer; peers that are gone.
// Out: packets, pulled by poll_transmit(); operations that become done.
// Timers: none. Threads: none, the caller holds one lock around everything.
//
// Of a message the first bytes are pushed, all of them if it is short; the receiver, when it has matched,
// pulls what it has room for, and the sender streams it as data packets. A late receiver costs the pushed
// bytes and a record. Control packets overtake pushes, pushes overtake data.
//
// Invariants: an operation is in at most one list; `done` is set by run_finished() (or at once if there is no
// on_done), never while Core handles something; a packet that makes no sense is counted and dropped.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "p2p/bulk.hpp"
#include "p2p/casts.hpp"
#include "p2p/completions.hpp"
#include "p2p/config.hpp"
#include "p2p/counters.hpp"
#include "p2p/direct_copy.hpp"
#include "p2p/flow_control.hpp"
#include "p2p/header_context.hpp"
#include "p2p/matcher.hpp"
#include "p2p/ops.hpp"
#include "p2p/partitioned.hpp"
#include "p2p/peer_table.hpp"
#include "p2p/posted_recv_ads.hpp"
#include "p2p/receiver.hpp"
#include "p2p/sender.hpp"
#include "p2p/services.hpp"
#include "wire/p2p_packet.hpp"

namespace herald::p2p {

class Core {
 public:
  explicit Core(const CoreConfig& config) noexcept;
  Core(const Core&) = delete;
  Core& operator=(const Core&) = delete;

  // Both ends call it before anything goes to the peer or comes from it: the peer is on another host.
  void set_remote(PeerId id) noexcept;

  // Operations must stay where they are until they are done.
  void start(SendOp& op) noexcept { sender_.start(op); }
  void start(RecvOp& op) noexcept { receiver_.start(op); }
  bool probe(std::uint64_t context, std::int32_t source, std::int32_t tag, Found& found) noexcept {
    return matcher_.probe(context, source, tag, found);
  }
  void start_matched(RecvOp& op, Message* message) noexcept { receiver_.start_matched(op, message); }
  // Requests back a send whose message is not known to be matched; one that was done (short, standard) is not
  // done again until the receiver has answered.
  void cancel(SendOp& op) noexcept { sender_.cancel(op); }
  void cancel(RecvOp& op) noexcept { receiver_.cancel(op); }
  std::uint64_t forget_context(std::uint64_t context) noexcept {  // messages that were dropped
    return receiver_.forget_context(context);
  }

  // Anything but `ok`: the packet was not taken; hand it in again later.
  Status on_packet(PeerId from, std::span<const std::byte> packet) noexcept;
  // The peer reads no more: operations that need it become done with Status::peer_lost.
  void on_peer_gone(PeerId id) noexcept;
  bool is_gone(PeerId id) const noexcept { return peers_[id].gone; }

  // poll_transmit() writes the next packet for the peer and returns its length, 0: none. `room` is at least
  // wire::kLargestHeader + 1 bytes. The packets must be sent in order.
  bool wants_to_send(PeerId to) const noexcept { return peers_[to].linked(); }
  bool wants_to_send() const noexcept { return peers_.wanting() != 0; }
  // `borrowed` may be set to bytes in user memory that follow what was written. Their send waits until
  // Sender::on_returned() has reported so many packets to the peer, the oldest first.
  std::size_t poll_transmit(PeerId to, std::span<std::byte> room, Borrowed* borrowed = nullptr) noexcept;

  // Sets `done` and calls on_done of the operations that have finished. True if there were any.
  bool run_finished() noexcept { return done_.run(); }
  std::uint64_t sends_under_way() const noexcept { return done_.sends_under_way; }
  std::uint64_t receives_under_way() const noexcept { return done_.receives_under_way; }
  const CoreCounters& counters() const noexcept { return done_.counters; }
  std::uint64_t messages_held() const noexcept { return matcher_.messages_held(); }
  Matcher& matcher() noexcept { return matcher_; }

  PeerTable& peers() noexcept { return peers_; }
  Sender& sender() noexcept { return sender_; }
  Casts& casts() noexcept { return casts_; }
  Completions& completions() noexcept { return done_; }
  DirectCopy& direct() noexcept { return direct_; }
  PostedRecvAds& ads() noexcept { return ads_; }
  Bulk& bulk() noexcept { return bulk_; }
  Services& services() noexcept { return services_; }
  Partitioned& partitioned() noexcept { return partitioned_; }

 private:
  const CoreConfig config_;
  PeerTable peers_;
  Completions done_;
  FlowControl flow_;
  HeaderContext headers_;
  Matcher matcher_;
  Services services_;
  Partitioned partitioned_;
  Casts casts_;
  DirectCopy direct_;
  PostedRecvAds ads_;
  Bulk bulk_;
  Sender sender_;
  Receiver receiver_;
};

}  // namespace herald::p2p
