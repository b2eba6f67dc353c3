// SPDX-License-Identifier: BSD-3-Clause
#include "p2p/bulk_sender.hpp"

#include <algorithm>

#include "wire/datagram.hpp"
#include "wire/p2p_packet.hpp"

namespace herald::p2p {

using namespace wire;

// A connection that closed since the pull: the receiver asks for the rest.
void BulkSender::add(SendOp& op) noexcept {
  const auto at = connections_.find(op.to);
  if (at != connections_.end()) return at->second.queue.push_back(op);
  peers_.send_control(op.to, BulkLostPacket{p2p_prefix(P2pKind::bulk_lost), op.receive_id});
}

void BulkSender::forget(SendOp& op) noexcept {
  const auto at = connections_.find(op.to);
  if (at != connections_.end() && at->second.frame != 0 && at->second.queue.front() == &op) {
    Connection& one = at->second;
    one.broken = one.sent != 0;
    if (one.broken) broken_.push_back(op.to);
    --one.number;  // nothing of it was seen if the connection goes on, so the cipher may use it again
    one.frame = one.sent = 0;
  }
  op.unlink();
  op.by_bulk = false;
}

void BulkSender::on_connected(PeerId to, BulkSession session) {
  on_closed(to);
  connections_[to].session = std::move(session);
}

void BulkSender::lose(List<SendOp>& sends) noexcept {
  while (SendOp* const op = sends.pop_front())
    peers_.send_control(op->to, BulkLostPacket{p2p_prefix(P2pKind::bulk_lost), op->receive_id});
}

void BulkSender::on_closed(PeerId to) noexcept {
  const auto at = connections_.find(to);
  if (at == connections_.end()) return;
  lose(at->second.queue);
  lose(at->second.written);
  connections_.erase(at);
  std::erase(broken_, to);
}

PeerId BulkSender::take_broken() noexcept {
  if (broken_.empty()) return -1;
  const PeerId to = broken_.back();
  broken_.pop_back();
  return to;
}

void BulkSender::begin_frame(Connection& one, const SendOp& op, const std::byte* bytes) noexcept {
  const auto count =
      static_cast<std::size_t>(std::min<std::uint64_t>(kFrameBytes, op.end - op.data.position()));
  const bool sealed = one.session.is_sealed();
  one.head = {op.receive_id,
              static_cast<std::uint32_t>(count),
              op.data.position(),
              sealed ? 0u : crc32c({bytes, count}),
              0u,
              {}};
  one.head.tag = one.session.head_tag(one.number, one.head);
  if (sealed) {
    one.sealed.resize((one.session.is_encrypted() ? count : 0) + one.session.trailer_bytes());
    one.session.seal(one.number, one.head, {bytes, count}, one.sealed.data());
  }
  ++one.number;
  one.frame = sizeof one.head + count + one.session.trailer_bytes();
  one.sent = 0;
  ++frames_;
}

std::size_t BulkSender::gather(PeerId to, Parts& parts) noexcept {
  const auto at = connections_.find(to);
  if (at == connections_.end() || !has_bytes(at->second)) return 0;
  Connection& one = at->second;
  SendOp& op = *one.queue.front();
  const auto* const bytes = static_cast<const std::byte*>(op.data.contiguous_at());
  if (one.frame == 0) begin_frame(one, op, bytes);
  const std::span<const std::byte> head{reinterpret_cast<const std::byte*>(&one.head), sizeof one.head};
  const bool encrypted = one.session.is_encrypted();
  const std::span<const std::byte> text{bytes, encrypted ? std::size_t{0} : std::size_t{one.head.bytes}};
  std::size_t parts_used = 0, skip = one.sent;
  for (const std::span<const std::byte> part : {head, text, std::span<const std::byte>(one.sealed)}) {
    const std::size_t done = std::min(skip, part.size());
    skip -= done;
    if (done != part.size()) parts[parts_used++] = part.subspan(done);
  }
  return parts_used;
}

bool BulkSender::has_more(PeerId to) noexcept {
  const auto at = connections_.find(to);
  if (at == connections_.end() || at->second.frame == 0) return false;
  const SendOp& op = *at->second.queue.front();
  return op.data.position() + at->second.head.bytes < op.end;
}

void BulkSender::on_written(PeerId to, std::size_t bytes) noexcept {
  const auto at = connections_.find(to);
  if (at == connections_.end() || at->second.frame == 0) return;
  Connection& one = at->second;
  one.sent += bytes;
  if (one.sent < one.frame) return;
  SendOp& op = *one.queue.front();
  op.data.skip(one.head.bytes);
  one.frame = one.sent = 0;
  if (op.data.position() < op.end) return;
  op.unlink();
  one.written.push_back(op);
}

}  // namespace herald::p2p
