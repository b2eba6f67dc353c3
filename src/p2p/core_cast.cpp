// SPDX-License-Identifier: BSD-3-Clause
// p2p/core_cast.cpp: a message to all members of a lane: pushed whole, once; each receiver matches it as any
// other message of its sender. It is done when the lane has all its bytes.
#include <algorithm>
#include <cstring>

#include "p2p/core.hpp"

namespace herald::p2p {

using namespace wire;

void Core::start_cast(SendOp& op) noexcept {
  const auto lane = static_cast<std::size_t>(op.lane);
  while (casts_.size() <= lane) casts_.push_back(std::make_unique<List<SendOp>>());
  op.phase = SendPhase::queued;
  if (op.data.total() > config_.most_pushed) return finish_send(op, Status::unsupported);
  casts_[lane]->push_back(op);
}

std::size_t Core::poll_cast(std::int32_t lane, std::span<std::byte> room) noexcept {
  SendOp* const op = casts_[static_cast<std::size_t>(lane)]->front();
  if (op == nullptr) return 0;
  std::size_t size = 0;
  if (op->phase == SendPhase::queued) {
    op->phase = SendPhase::pushed;
    op->seq = next_cast_++;
    PushPacket header;
    header.prefix = p2p_prefix(P2pKind::push, kFlagCast);
    header.seq = op->seq;
    header.context = op->context;
    header.source = op->source;
    header.tag = op->tag;
    header.message_bytes = op->data.total();
    header.send_id = 0;
    header.push_bytes = static_cast<std::uint32_t>(op->data.total());
    std::memcpy(room.data(), &header, sizeof header);
    size = sizeof header;
    ++counters_.sent;
    counters_.sent_bytes += op->data.total();
  } else {
    DataPacket header;
    header.prefix = p2p_prefix(P2pKind::data, kFlagUnasked | kFlagCast);
    header.id = op->seq;
    header.offset = op->data.position();
    std::memcpy(room.data(), &header, sizeof header);
    size = sizeof header;
  }
  size += op->data.pack(room.data() + size, room.size() - size);
  if (op->data.remaining() == 0) {
    op->unlink();
    leave(*op);
  }
  return size;
}

void Core::drop_casts(std::int32_t lane) noexcept {
  if (static_cast<std::size_t>(lane) >= casts_.size()) return;
  while (SendOp* op = casts_[static_cast<std::size_t>(lane)]->front()) finish_send(*op, Status::group_lost);
}

}  // namespace herald::p2p
