// SPDX-License-Identifier: BSD-3-Clause
// p2p/core_keep.cpp: what a late receiver costs: the memory for messages that came before their receives, of
// each peer, and how it is bounded. Of a far peer by the allowance that its sender counts; of a near one by
// us, who hush it; of casts by their lane, which keeps what we do not take.
#include "p2p/core.hpp"

namespace herald::p2p {

using namespace wire;

void Core::keep(Message& message) noexcept {
  const PeerId from = message.envelope.from;
  Peer& sender = peer(from);
  if (message.envelope.cast) {
    cast_held(from) += message.arrived + std::uint32_t{sizeof(Message)};
  } else if (!sender.far && from != config_.me) {
    sender.kept += message.cost;
    if (!sender.paused && sender.kept > config_.local_allowance) pause_peer(from, true);
  }
}

void Core::keep_no_more(const Message& message) noexcept {
  const PeerId from = message.envelope.from;
  Peer& sender = peer(from);
  if (message.envelope.cast) {
    cast_held(from) -= message.arrived + std::uint32_t{sizeof(Message)};
  } else if (sender.far) {
    consume(from, message.arrived + record_of(message.envelope));
  } else if (from != config_.me) {
    sender.kept -= message.cost;
    if (sender.paused && sender.kept <= config_.local_allowance / 2) pause_peer(from, false);
  }
}

void Core::pause_peer(PeerId from, bool yes) noexcept {
  peer(from).paused = yes;
  AllowancePacket packet;
  packet.prefix = p2p_prefix(P2pKind::allowance);
  packet.limit = yes ? 0 : 1;
  control(from, packet);
}

void Core::drop(Message* message) noexcept {
  keep_no_more(*message);
  message->arriving.unlink();
  messages_.put(message);
}

// Pushed bytes have left our hands. The sender hears of it now and then.
void Core::consume(PeerId from, std::uint32_t bytes) noexcept {
  Peer& sender = peer(from);
  if (!sender.far) return;
  sender.consumed += bytes;
  if (sender.consumed - sender.told < config_.remote_allowance / 4) return;
  sender.told = sender.consumed;
  AllowancePacket packet;
  packet.prefix = p2p_prefix(P2pKind::allowance);
  packet.limit = sender.consumed + config_.remote_allowance;
  control(from, packet);
}

// The sender of casts does not know how much of them nobody receives yet: its lane holds the rest back. But
// not what we wait for, which may come behind what we do not receive yet: collectives that are under way at
// the same time cast in any order.
bool Core::holds_back(PeerId from, std::uint64_t context, std::size_t bytes) noexcept {
  return cast_held(from) + bytes > config_.cast_unexpected && !contexts_.find(context)->posted.awaits(from);
}

}  // namespace herald::p2p
