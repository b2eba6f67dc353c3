// SPDX-License-Identifier: BSD-3-Clause
// p2p/receiver.hpp: the receiving side of push-pull: takes messages apart, matches them, pulls the rest.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "p2p/bulk_receiver.hpp"
#include "p2p/completions.hpp"
#include "p2p/config.hpp"
#include "p2p/direct_copy.hpp"
#include "p2p/flow_control.hpp"
#include "p2p/header_context.hpp"
#include "p2p/id_table.hpp"
#include "p2p/matcher.hpp"
#include "p2p/peer_table.hpp"
#include "p2p/posted_recv_ads.hpp"

namespace herald::p2p {

class Services;
struct ServiceCall;

class Receiver {
 public:
  Receiver(const CoreConfig& config, PeerTable& peers, FlowControl& flow, HeaderContext& headers,
           Matcher& matcher, DirectCopy& direct, PostedRecvAds& ads, Services& services, BulkReceiver& bulk,
           Completions& done) noexcept;

  void start(RecvOp& op) noexcept;
  void start_matched(RecvOp& op, Message* message) noexcept;
  void cancel(RecvOp& op) noexcept;
  std::uint64_t forget_context(std::uint64_t context) noexcept;

  // Anything but `ok`: the packet was not taken.
  Status on_eager(PeerId from, bool compact, std::span<const std::byte> packet) noexcept;
  Status on_data(PeerId from, std::span<const std::byte> packet) noexcept;
  Status on_bundle(PeerId from, std::span<const std::byte> packet) noexcept;
  // A service (services.hpp): the sender requests its message back.
  static bool on_cancel(void* receiver, const ServiceCall& call, type::Cursor& into) noexcept;
  void on_peer_gone(PeerId id) noexcept;

  // For BulkReceiver: a receive that pulls, by its id; bytes are in its memory; the rest is to come as data.
  RecvOp* find_pull(std::uint32_t id) const noexcept {
    RecvOp* const op = ids_.find(id);
    return op != nullptr && op->phase == RecvPhase::pulling ? op : nullptr;
  }
  template <class Visit>
  void for_each_pull(Visit visit) noexcept {
    ids_.for_each([&](RecvOp& op) {
      if (op.phase == RecvPhase::pulling) visit(op);
    });
  }
  void on_bulk(RecvOp& op, std::uint32_t bytes) noexcept;
  void resume(RecvOp& op) noexcept;

  // For DirectCopy. Tells the sender, if it awaits an answer, that no more of the message is needed.
  void ack(const Envelope& envelope) noexcept {
    if (envelope.send_id != 0) send_ack(envelope);
  }
  void finish(RecvOp& op) noexcept;  // its message is complete
  void leave_direct(RecvOp& op) noexcept;

 private:
  void prepare(RecvOp& op) noexcept;
  void end(RecvOp& op, Status status) noexcept;
  Status accept(const Envelope& envelope, std::span<const std::byte> body) noexcept;
  void deliver(RecvOp& op, const Envelope& envelope, const std::byte* payload,
               std::uint32_t arrived) noexcept;
  void deliver(RecvOp& op, Message* message) noexcept;
  void deliver_rest(RecvOp& op, const Envelope& envelope, const std::byte* payload, std::uint32_t arrived,
                    std::uint64_t wanted) noexcept;
  void send_ack(const Envelope& envelope) noexcept;
  void await_rest(Arriving& item, const Envelope& envelope) noexcept;
  Status on_pushed(PeerId from, std::span<const std::byte> packet) noexcept;
  bool may_hold_cast(PeerId from, std::uint64_t context, std::size_t bytes) noexcept;
  void end_ad(RecvOp& op, const Envelope& envelope) noexcept;
  bool withdraw_ad(RecvOp& op) noexcept;
  void release_id(RecvOp& op) noexcept {
    if (op.id == 0) return;
    if (op.pull_at.ns != 0) bulk_.end_timing(op);
    ids_.remove(op.id);
    op.id = 0;
  }

  const CoreConfig& config_;
  PeerTable& peers_;
  FlowControl& flow_;
  HeaderContext& headers_;
  Matcher& matcher_;
  DirectCopy& direct_;
  PostedRecvAds& ads_;
  Services& services_;
  BulkReceiver& bulk_;
  Completions& done_;
  IdTable<RecvOp> ids_;  // receives that pull, read a peer's memory or are advertised
};

}  // namespace herald::p2p
