// SPDX-License-Identifier: BSD-3-Clause
// p2p/core_far.cpp: messages between hosts that are one packet and await no answer. Of a short one the header
// is much of what the wire carries, so it says no more than the receiver does not know.
#include <cstring>

#include "p2p/core.hpp"

namespace herald::p2p {

using namespace wire;

void Core::set_remote(PeerId id) noexcept {
  peer(id).far = true;
  peer(id).push_limit = config_.remote_allowance;
}

// The header, without flags, of what is no cast.
std::size_t Core::write_remote_head(const ShortSend& what, std::uint32_t seq, std::byte* room) noexcept {
  if (header_context_.say(peer(what.to), what.context, what.source)) {
    const AgainPacket header{kP2pVersion, static_cast<std::uint8_t>(P2pKind::again), what.tag};
    std::memcpy(room, &header, sizeof header);
    return sizeof header;
  }
  const WholePacket header{p2p_prefix(P2pKind::whole), seq, what.context, what.source, what.tag};
  std::memcpy(room, &header, sizeof header);
  return sizeof header;
}

std::size_t Core::push_remote_now(const ShortSend& what, std::byte* room) noexcept {
  Peer& to = peer(what.to);
  const std::size_t head = write_remote_head(what, to.next_seq++, room);
  if (what.bytes != 0) std::memcpy(room + head, what.data, what.bytes);
  to.pushed += static_cast<std::uint32_t>(what.bytes) + kRecord;
  ++counters_.sent;
  ++counters_.finished;
  counters_.sent_bytes += what.bytes;
  return head + what.bytes;
}

std::size_t Core::write_whole(SendOp& op, bool cast, std::span<std::byte> room) noexcept {
  std::size_t head = sizeof(WholePacket);
  if (cast) {
    const WholePacket header{p2p_prefix(P2pKind::whole, kFlagCast), op.seq, op.context, op.source, op.tag};
    std::memcpy(room.data(), &header, head);
  } else {
    head = write_remote_head({.context = op.context, .to = op.to, .tag = op.tag, .source = op.source}, op.seq,
                             room.data());
  }
  const std::size_t bytes = op.data.pack(room.data() + head, room.size() - head);
  ++counters_.sent;
  counters_.sent_bytes += bytes;
  leave(op);
  return head + bytes;
}

Status Core::on_whole(PeerId from, std::span<const std::byte> packet) noexcept {
  const auto& head = as<WholePacket>(packet);
  const std::span<const std::byte> payload = packet.subspan(sizeof head);
  const auto bytes = static_cast<std::uint32_t>(payload.size());
  const PushPacket push{head.prefix, head.seq, head.context, head.source, head.tag, bytes, 0, bytes};
  const Status status = take_push(from, push, payload);
  if (status != Status::ok || (head.prefix.flags & kFlagCast) != 0) return status;
  hear(from, head.seq, false);
  if (peer(from).far) header_context_.hear(peer(from), {head.context, head.source, head.seq + 1});
  return status;
}

Status Core::on_again(PeerId from, std::span<const std::byte> packet) noexcept {
  HeaderState* const last = header_context_.heard(peer(from));
  if (last == nullptr) return bad();
  const auto& head = as<AgainPacket>(packet);
  const std::span<const std::byte> payload = packet.subspan(sizeof head);
  const auto bytes = static_cast<std::uint32_t>(payload.size());
  const PushPacket push{
      p2p_prefix(P2pKind::whole), last->next_seq, last->context, last->source, head.tag, bytes, 0, bytes};
  const Status status = take_push(from, push, payload);
  if (status == Status::ok) ++last->next_seq;
  return status;
}

}  // namespace herald::p2p
