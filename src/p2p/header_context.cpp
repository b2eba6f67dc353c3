// SPDX-License-Identifier: BSD-3-Clause
#include "p2p/header_context.hpp"

namespace herald::p2p {

using namespace wire;

std::size_t write_eager_header(const Envelope& message, std::byte* room) noexcept {
  EagerPacket header;
  const bool synchronous = message.send_id != 0 && message.pushed == message.bytes;
  header.prefix =
      p2p_prefix(P2pKind::eager, static_cast<std::uint16_t>((synchronous ? kFlagSynchronous : 0) |
                                                            (message.cast ? kFlagCast : 0) |
                                                            (message.runs != 0 ? kFlagInPlace : 0) |
                                                            (message.incomplete ? kFlagIncompleteData : 0)));
  header.seq = message.seq;
  header.context = message.context;
  header.source = message.source;
  header.tag = message.tag;
  header.message_bytes = message.bytes;
  header.send_id = message.send_id;
  header.push_bytes = message.pushed;
  std::memcpy(room, &header, sizeof header);
  return sizeof header;
}

void HeaderContext::add_pair(Peer& peer) noexcept {
  peer.header_slot = static_cast<std::uint32_t>(pairs_.size());
  pairs_.emplace_back();
}

std::size_t HeaderContext::read_full(std::span<const std::byte> packet, Envelope& message) noexcept {
  const auto& header = as<EagerPacket>(packet);
  const std::uint16_t flags = header.prefix.flags;
  message.context = header.context;
  message.bytes = header.message_bytes;
  message.source = header.source;
  message.tag = header.tag;
  message.send_id = header.send_id;
  message.seq = header.seq;
  message.pushed = header.push_bytes;
  message.cast = (flags & kFlagCast) != 0;
  message.incomplete = (flags & kFlagIncompleteData) != 0;
  const std::size_t behind = packet.size() - sizeof header;
  if ((flags & kFlagInPlace) != 0) message.runs = static_cast<std::uint32_t>(behind / sizeof(RunPart));
  const bool answered = message.pushed < message.bytes || (flags & kFlagSynchronous) != 0;
  return message.pushed <= message.bytes && answered == (message.send_id != 0) ? sizeof header : 0;
}

}  // namespace herald::p2p
