// SPDX-License-Identifier: BSD-3-Clause
#include "p2p/casts.hpp"

#include <algorithm>
#include <cstring>

#include "p2p/header_context.hpp"
#include "p2p/sender.hpp"

namespace herald::p2p {

using namespace wire;

void Casts::start(SendOp& op) noexcept {
  const auto lane = static_cast<std::size_t>(op.lane);
  while (waiting_.size() <= lane) waiting_.push_back(std::make_unique<List<SendOp>>());
  if (op.data.total() > config_.most_pushed) return sender_.finish(op, Status::unsupported);
  waiting_[lane]->push_back(op);
}

std::size_t Casts::poll_transmit(std::int32_t lane, std::span<std::byte> room) noexcept {
  List<SendOp>& ops = *waiting_[static_cast<std::size_t>(lane)];
  SendOp* const op = ops.front();
  if (op == nullptr) return 0;
  return op->bundled ? write_bundle(ops, room) : write_packet(*op, room);
}

std::size_t Casts::write_packet(SendOp& op, std::span<std::byte> room) noexcept {
  std::size_t size = 0;
  if (op.phase == SendPhase::queued) {
    op.phase = SendPhase::pushed;
    op.seq = next_seq_++;
    size = write_eager_header({.context = op.context,
                               .bytes = op.data.total(),
                               .source = op.source,
                               .tag = op.tag,
                               .seq = op.seq,
                               .pushed = static_cast<std::uint32_t>(op.data.total()),
                               .cast = true,
                               .incomplete = op.incomplete},
                              room.data());
    ++done_.counters.sent;
    done_.counters.sent_bytes += op.data.total();
  } else {
    const DataPacket header{p2p_prefix(P2pKind::data, kFlagPushed | kFlagCast), op.seq, op.data.position()};
    std::memcpy(room.data(), &header, sizeof header);
    size = sizeof header;
  }
  size += op.data.pack(room.data() + size, room.size() - size);
  if (op.data.remaining() == 0) {
    op.unlink();
    sender_.finish_sent(op);
  }
  return size;
}

// As many waiting casts as fit whole, or some of one that is longer than a packet. A member that does not
// take its part gets the packet again, so it may have only one part in it.
std::size_t Casts::write_bundle(List<SendOp>& ops, std::span<std::byte> room) noexcept {
  constexpr std::size_t kMaxParts = 64;
  room = room.first(std::min<std::size_t>(room.size(), UINT16_MAX));
  const BundlePacket header{p2p_prefix(P2pKind::bundle)};
  std::memcpy(room.data(), &header, sizeof header);
  std::size_t size = sizeof header, parts = 0;
  PeerId to[kMaxParts];
  for (SendOp* op = ops.front(); op != nullptr && op->bundled && parts < kMaxParts; op = ops.front()) {
    const std::size_t head =
        sizeof(BundlePart) + (op->phase == SendPhase::queued ? sizeof(EagerPacket) : sizeof(DataPacket));
    if (parts != 0 && head + op->data.remaining() > room.size() - size) break;
    if (std::find(to, to + parts, op->to) != to + parts) break;
    to[parts] = op->to;
    const std::size_t bytes = write_packet(*op, room.subspan(size + sizeof(BundlePart)));
    BundlePart part;
    part.to = static_cast<std::uint32_t>(to[parts++]);
    part.bytes = static_cast<std::uint16_t>(bytes);
    std::memcpy(room.data() + size, &part, sizeof part);
    size += sizeof part + bytes;
  }
  return size;
}

void Casts::drop(std::int32_t lane) noexcept {
  if (static_cast<std::size_t>(lane) >= waiting_.size()) return;
  while (SendOp* op = waiting_[static_cast<std::size_t>(lane)]->front())
    sender_.finish(*op, Status::group_lost);
}

}  // namespace herald::p2p
