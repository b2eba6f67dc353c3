// SPDX-License-Identifier: BSD-3-Clause
// p2p/header_context.hpp: writes the headers of messages and takes them apart. Both ends of a pair remember
// the last message: the next one of the same communicator and source has a header of six bytes.
// A pair without messages costs nothing here. Invariant: both ends update their state in the order of the
// packets; casts, which come by another way, leave it alone.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "p2p/message.hpp"
#include "p2p/peer.hpp"
#include "wire/p2p_packet.hpp"

namespace herald::p2p {

// The full header of a message, or of a cast. Returns its length.
std::size_t write_eager_header(const Envelope& message, std::byte* room) noexcept;

class HeaderContext {
 public:
  HeaderContext() noexcept : pairs_(1) {}  // slot 0 belongs to no peer

  // Writes the header of a message to the peer, compact where that says enough. `whole`: all of the message
  // follows in the same packet. Returns the length of the header.
  std::size_t write(Peer& to, const Envelope& message, bool whole, std::byte* room) noexcept {
    State& last = pair_of(to).to;
    const bool same = last.context == message.context && last.source == message.source;
    if (same && whole && message.send_id == 0 && !message.incomplete) [[likely]] {
      // Field by field into `room`: a copy of the structure would wait for the stores of its fields.
      auto& header = *reinterpret_cast<wire::CompactPacket*>(room);
      header.version = wire::kP2pVersion;
      header.kind = static_cast<std::uint8_t>(wire::P2pKind::eager_compact);
      header.tag = message.tag;
      return sizeof header;
    }
    last.context = message.context;
    last.source = message.source;
    return write_eager_header(message, room);
  }
  // Takes apart a packet that decode() accepted as eager or eager_compact. Returns the length of the header;
  // 0: it contradicts itself.
  std::size_t read(const Peer& from, bool compact, std::span<const std::byte> packet,
                   Envelope& message) noexcept {
    if (!compact) return read_full(packet, message);
    const State& last = pairs_[from.header_slot].from;
    if (last.source < 0) return 0;
    message.context = last.context;
    message.source = last.source;
    message.seq = last.next_seq;
    message.tag = wire::as<wire::CompactPacket>(packet).tag;
    message.bytes = packet.size() - sizeof(wire::CompactPacket);
    message.pushed = static_cast<std::uint32_t>(message.bytes);
    return sizeof(wire::CompactPacket);
  }
  // The message, no cast, was taken.
  void on_received(Peer& from, const Envelope& message) noexcept {
    pair_of(from).from = {message.context, message.source, message.seq + 1, message.runs != 0};
  }
  // Messages from the peer so far; whether the last was copied between the two memories.
  std::uint32_t received(const Peer& from) const noexcept { return pairs_[from.header_slot].from.next_seq; }
  bool was_direct(const Peer& from) const noexcept { return pairs_[from.header_slot].from.direct; }

 private:
  struct State {
    std::uint64_t context = 0;
    std::int32_t source = -1;    // none yet
    std::uint32_t next_seq = 0;  // only of messages from the peer
    bool direct = false;
  };
  struct Pair {
    State to, from;
  };
  Pair& pair_of(Peer& peer) noexcept {
    if (peer.header_slot == 0) [[unlikely]]
      add_pair(peer);
    return pairs_[peer.header_slot];
  }
  void add_pair(Peer& peer) noexcept;
  static std::size_t read_full(std::span<const std::byte> packet, Envelope& message) noexcept;

  std::vector<Pair> pairs_;
};

}  // namespace herald::p2p
