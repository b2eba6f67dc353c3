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
    --one.number;
    one.frame = one.sent = 0;
  }
  op.unlink();
  op.by_bulk = false;
}

void BulkSender::on_connected(PeerId to, const StreamSession& session) {
  on_closed(to);
  connections_[to].session = session;
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

std::size_t BulkSender::gather(PeerId to, Parts& parts) noexcept {
  const auto at = connections_.find(to);
  if (at == connections_.end() || !has_bytes(at->second)) return 0;
  Connection& one = at->second;
  SendOp& op = *one.queue.front();
  const auto* const bytes = static_cast<const std::byte*>(op.data.contiguous_at());
  if (one.frame == 0) {
    const auto count =
        static_cast<std::size_t>(std::min<std::uint64_t>(kFrameBytes, op.end - op.data.position()));
    one.head = {
        op.receive_id, static_cast<std::uint32_t>(count), op.data.position(), crc32c({bytes, count}), 0u, {}};
    one.head.tag = one.session.bulk_tag(one.number++, one.head);
    one.frame = sizeof one.head + count;
    one.sent = 0;
    ++frames_;
  }
  std::size_t parts_used = 0;
  if (one.sent < sizeof one.head)
    parts[parts_used++] = {reinterpret_cast<const std::byte*>(&one.head) + one.sent,
                           sizeof one.head - one.sent};
  const std::size_t from = one.sent - std::min(one.sent, sizeof one.head);
  parts[parts_used++] = {bytes + from, one.frame - sizeof one.head - from};
  return parts_used;
}

void BulkSender::on_written(PeerId to, std::size_t bytes) noexcept {
  const auto at = connections_.find(to);
  if (at == connections_.end() || at->second.frame == 0) return;
  Connection& one = at->second;
  one.sent += bytes;
  if (one.sent < one.frame) return;
  SendOp& op = *one.queue.front();
  op.data.skip(one.frame - sizeof one.head);
  one.frame = one.sent = 0;
  if (op.data.position() < op.end) return;
  op.unlink();
  one.written.push_back(op);
}

}  // namespace herald::p2p
