// SPDX-License-Identifier: BSD-3-Clause
// p2p/core_cast.cpp: a message to all members of a lane: pushed whole, once; each receiver matches it as any
// other message of its sender. It is done when the lane has all its bytes. Messages for single members go the
// same way if asked to, several in one packet.
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
  List<SendOp>& ops = *casts_[static_cast<std::size_t>(lane)];
  SendOp* const op = ops.front();
  if (op == nullptr) return 0;
  return op->bundled ? write_bundle(ops, room) : write_cast(*op, room);
}

// The next packet of a cast.
std::size_t Core::write_cast(SendOp& op, std::span<std::byte> room) noexcept {
  std::size_t size = 0;
  if (op.phase == SendPhase::queued) {
    op.phase = SendPhase::pushed;
    op.seq = next_cast_++;
    if (op.data.total() <= room.size() - sizeof(PushPacket)) {
      op.unlink();
      return write_whole(op, true, room);
    }
    PushPacket header;
    header.prefix = p2p_prefix(P2pKind::push, kFlagCast);
    header.seq = op.seq;
    header.context = op.context;
    header.source = op.source;
    header.tag = op.tag;
    header.message_bytes = op.data.total();
    header.send_id = 0;
    header.push_bytes = static_cast<std::uint32_t>(op.data.total());
    std::memcpy(room.data(), &header, sizeof header);
    size = sizeof header;
    ++counters_.sent;
    counters_.sent_bytes += op.data.total();
  } else {
    DataPacket header;
    header.prefix = p2p_prefix(P2pKind::data, kFlagUnasked | kFlagCast);
    header.id = op.seq;
    header.offset = op.data.position();
    std::memcpy(room.data(), &header, sizeof header);
    size = sizeof header;
  }
  size += op.data.pack(room.data() + size, room.size() - size);
  if (op.data.remaining() == 0) {
    op.unlink();
    leave(op);
  }
  return size;
}

// As many of those that wait as fit whole, or some of one that is longer than a packet. A member that does
// not take its part is given the packet again, so it may have only one part in it.
std::size_t Core::write_bundle(List<SendOp>& ops, std::span<std::byte> room) noexcept {
  constexpr std::size_t kMostParts = 64;
  room = room.first(std::min<std::size_t>(room.size(), UINT16_MAX));
  const BundlePacket header{p2p_prefix(P2pKind::bundle)};
  std::memcpy(room.data(), &header, sizeof header);
  std::size_t size = sizeof header, parts = 0;
  PeerId to[kMostParts];
  for (SendOp* op = ops.front(); op != nullptr && op->bundled && parts < kMostParts; op = ops.front()) {
    const std::size_t head =
        sizeof(BundlePart) + (op->phase == SendPhase::queued ? sizeof(PushPacket) : sizeof(DataPacket));
    if (parts != 0 && head + op->data.remaining() > room.size() - size) break;
    if (std::find(to, to + parts, op->to) != to + parts) break;
    to[parts] = op->to;
    const std::size_t bytes = write_cast(*op, room.subspan(size + sizeof(BundlePart)));
    BundlePart part;
    part.to = static_cast<std::uint32_t>(to[parts++]);
    part.bytes = static_cast<std::uint16_t>(bytes);
    std::memcpy(room.data() + size, &part, sizeof part);
    size += sizeof part + bytes;
  }
  return size;
}

Status Core::on_bundle(PeerId from, std::span<const std::byte> packet) noexcept {
  const std::span<const std::byte> part = part_for(static_cast<std::uint32_t>(config_.me), packet);
  if (part.empty()) return Status::ok;
  P2pKind kind{};
  if (!decode(part, kind) || (as<P2pPrefix>(part).flags & kFlagCast) == 0) return bad();
  if (kind == P2pKind::push) return on_push(from, part);
  if (kind == P2pKind::whole) return on_whole(from, part);
  return kind == P2pKind::data ? on_data(from, part) : bad();
}

void Core::drop_casts(std::int32_t lane) noexcept {
  if (static_cast<std::size_t>(lane) >= casts_.size()) return;
  while (SendOp* op = casts_[static_cast<std::size_t>(lane)]->front()) finish_send(*op, Status::group_lost);
}

}  // namespace herald::p2p
