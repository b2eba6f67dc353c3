// SPDX-License-Identifier: BSD-3-Clause
// p2p/sender.hpp: the sending side of push-pull: sends that wait, are pushed, are pulled or are cancelled,
// and the packets of messages. SendPhase (ops.hpp) has the diagram of their states.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "p2p/bulk_sender.hpp"
#include "p2p/completions.hpp"
#include "p2p/config.hpp"
#include "p2p/direct_copy.hpp"
#include "p2p/flow_control.hpp"
#include "p2p/header_context.hpp"
#include "p2p/id_table.hpp"
#include "p2p/peer_table.hpp"
#include "p2p/zero_copy.hpp"

namespace herald::p2p {

class Casts;
class Services;
struct ServiceCall;

class Sender {
 public:
  Sender(const CoreConfig& config, PeerTable& peers, FlowControl& flow, HeaderContext& headers,
         DirectCopy& direct, Casts& casts, Services& services, BulkSender& bulk, Completions& done) noexcept;

  void start(SendOp& op) noexcept;
  void cancel(SendOp& op) noexcept;
  // Whether a standard message can leave as one packet now: nothing waits for the peer, and a packet may have
  // `room` bytes. Then send_now() writes the packet, and the send is done. The caller counts it as sent.
  bool can_send_now(PeerId id, std::uint64_t bytes, std::size_t room) const noexcept {
    const Peer& to = peers_[id];
    return !to.linked() && !to.gone && bytes + sizeof(wire::EagerPacket) <= room &&
           flow_.may_push_whole(to, bytes) && done_.trace == nullptr;
  }
  std::size_t send_now(const ShortSend& send, std::byte* room) noexcept;
  std::size_t send_now(SendOp& op, std::byte* room) noexcept;

  // The next packet of a send; 0: a send failed instead.
  std::size_t write_next(Peer& to, std::span<std::byte> room, Borrowed* borrowed) noexcept;
  // The last packet was the beginning of a message that is to be pulled, and nothing else is under way: it
  // should leave before more is written, so that the pull comes meanwhile.
  bool take_urgent() noexcept { return std::exchange(urgent_, false); }
  void on_returned(PeerId to, std::uint32_t packets) noexcept;

  bool on_pull(PeerId from, const wire::PullPacket& packet) noexcept;
  bool on_ack(PeerId from, const wire::AckPacket& packet) noexcept;
  // A service (services.hpp).
  static bool on_cancel_reply(void* sender, const ServiceCall& call, type::Cursor& into) noexcept;
  void on_peer_gone(PeerId id) noexcept;

  // The send that a packet of this peer names; null: none.
  SendOp* find(PeerId from, std::uint32_t id, std::uint32_t seq) const noexcept {
    SendOp* const op = ids_.find(id);
    return op != nullptr && op->to == from && op->seq == seq ? op : nullptr;
  }
  template <class Visit>
  void for_each_unanswered(Visit visit) noexcept {
    ids_.for_each(visit);
  }
  // See FlowControl.
  void set_most_unexpected(std::uint64_t bytes) noexcept { flow_.set_most_unexpected(bytes); }
  void set_remote_more(std::uint32_t bytes) noexcept { flow_.set_remote_more(bytes); }
  // A send that waits for its receive because the receiver holds as much of ours as it may; null: none.
  const SendOp* find_held_back() noexcept {
    const SendOp* found = nullptr;
    ids_.for_each([&](const SendOp& op) {
      const bool waits = op.held_back && op.phase == SendPhase::pushed && !op.answered;
      if (waits && (found == nullptr || static_cast<std::int32_t>(op.seq - found->seq) < 0)) found = &op;
    });
    return found;
  }
  // All bytes have left and no answer is awaited.
  void finish_sent(SendOp& op) noexcept;
  void finish(SendOp& op, Status status) noexcept;

 private:
  static void reset(SendOp& op) noexcept;
  std::size_t write_first(Peer& to, SendOp& op, std::span<std::byte> room) noexcept;
  std::size_t write_header(Peer& to, const Envelope& message, bool whole, std::byte* room) noexcept;
  template <class Send>  // SendOp or ShortSend
  std::size_t write_whole_header(Peer& to, const Send& send, std::uint64_t bytes, std::uint32_t seq,
                                 std::byte* room) noexcept;
  std::size_t write_data(SendOp& op, std::span<std::byte> room, Borrowed* borrowed) noexcept;
  bool resume(SendOp* op, const wire::PullPacket& packet) noexcept;
  void finish_when_returned(SendOp& op) noexcept;
  bool end_cancel(PeerId from, const wire::CancelReplyHeader& reply) noexcept;

  const CoreConfig& config_;
  PeerTable& peers_;
  FlowControl& flow_;
  HeaderContext& headers_;
  DirectCopy& direct_;
  Casts& casts_;
  Services& services_;
  BulkSender& bulk_;
  Completions& done_;
  ZeroCopy zero_copy_;
  IdTable<SendOp> ids_;  // sends that await an answer
  bool urgent_ = false;
};

}  // namespace herald::p2p
