// SPDX-License-Identifier: BSD-3-Clause
// p2p/core_now.cpp: the short way: a message that is one packet, to or from a peer with whom nothing else is
// under way. It is what the general way would do (core_send.cpp, core_recv.cpp), without queues.
#include <cstring>

#include "p2p/core.hpp"

namespace herald::p2p {

using namespace wire;

namespace {

// memcpy that makes no call for a few bytes: most messages are short.
inline void copy(std::byte* to, const void* from, std::size_t bytes) noexcept {
  const auto* in = static_cast<const std::byte*>(from);
  if (bytes >= 8 && bytes <= 16) {
    std::uint64_t first, last;
    std::memcpy(&first, in, 8);
    std::memcpy(&last, in + bytes - 8, 8);
    std::memcpy(to, &first, 8);
    std::memcpy(to + bytes - 8, &last, 8);
  } else if (bytes != 0) {
    std::memcpy(to, in, bytes);
  }
}

inline void write_head(const ShortSend& what, std::uint32_t seq, std::byte* room) noexcept {
  PushPacket header;
  header.prefix = p2p_prefix(P2pKind::push);
  header.seq = seq;
  header.context = what.context;
  header.source = what.source;
  header.tag = what.tag;
  header.message_bytes = what.bytes;
  header.send_id = 0;
  header.push_bytes = static_cast<std::uint32_t>(what.bytes);
  std::memcpy(room, &header, sizeof header);
}

}  // namespace

std::size_t Core::push_now(const ShortSend& what, std::byte* room) noexcept {
  write_head(what, peer(what.to).next_seq++, room);
  copy(room + sizeof(PushPacket), what.data, what.bytes);
  ++counters_.sent;
  ++counters_.finished;
  counters_.sent_bytes += what.bytes;
  return sizeof(PushPacket) + what.bytes;
}

std::size_t Core::push_now(SendOp& op, std::byte* room) noexcept {
  const std::uint64_t bytes = op.data.total();
  op.done = op.cancelled = false;
  op.id = 0;
  op.push_end = bytes;
  op.end = 0;
  op.answered = op.direct = false;
  op.phase = SendPhase::left;
  op.seq = peer(op.to).next_seq++;
  if (op.data.position() != 0) op.data.seek(0);
  const ShortSend what{.context = op.context,
                       .data = nullptr,
                       .bytes = bytes,
                       .to = op.to,
                       .tag = op.tag,
                       .source = op.source};
  write_head(what, op.seq, room);
  op.data.pack(room + sizeof(PushPacket), bytes);
  ++counters_.sent;
  counters_.sent_bytes += bytes;
  finish(op, Status::ok);
  return sizeof(PushPacket) + bytes;
}

bool Core::waits_for_nothing(const RecvOp& op) noexcept {
  if (sends_under_way_ != 0 || wants_to_send() || has_direct() || trace_ != nullptr) return false;
  const Context* context = contexts_.find(op.context);
  return context != nullptr && !context->forgotten && context->posted.empty() && context->unexpected.empty();
}

bool Core::receive_now(RecvOp& op, std::span<const std::byte> packet) noexcept {
  if (!is_whole_push(packet)) return false;
  const auto& header = as<PushPacket>(packet);
  const std::size_t bytes = packet.size() - sizeof header;
  if (header.context != op.context || header.source != op.source ||
      (header.tag != op.tag && op.tag != kAnyTag) || bytes > op.data.total())
    return false;
  op.cancelled = false;
  place(op, header, packet.data() + sizeof header, bytes);
  hear(op.awaited, header.seq, false);
  return true;
}

// A whole message, not longer than the receive, which is in no queue.
void Core::place(RecvOp& op, const PushPacket& header, const std::byte* payload, std::size_t bytes) noexcept {
  op.from_source = header.source;
  op.from_tag = header.tag;
  op.id = 0;
  op.phase = RecvPhase::finished;
  if (op.data.position() != 0) op.data.seek(0);
  if (op.data.contiguous()) {
    copy(static_cast<std::byte*>(op.data.contiguous_at()), payload, bytes);
    op.data.skip(bytes);
  } else {
    op.data.unpack(payload, bytes);
  }
  op.bytes = bytes;
  ++counters_.received;
  counters_.received_bytes += bytes;
  finish(op, Status::ok);
}

}  // namespace herald::p2p
