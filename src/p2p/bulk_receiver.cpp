// SPDX-License-Identifier: BSD-3-Clause
#include "p2p/bulk_receiver.hpp"

#include <algorithm>

#include "p2p/receiver.hpp"
#include "wire/datagram.hpp"

namespace herald::p2p {

using namespace wire;

namespace {

constexpr std::size_t kDropAtOnce = 64 << 10;

}  // namespace

std::uint16_t BulkReceiver::flags_of_pull(RecvOp& op) noexcept {
  if (!choice_.is_enabled()) [[likely]]
    return 0;
  unstamped_.push_back(op.id);
  const bool fits = op.data.contiguous() && op.expected - op.pull_from >= config_.bulk_least;
  op.by_bulk = fits && choice_.picks_bulk(now_, op.from_peer) && connections_.contains(op.from_peer);
  return op.by_bulk ? kFlagByBulk : std::uint16_t{0};
}

// A pull that began between two turns begins with the next one.
void BulkReceiver::stamp() noexcept {
  for (const std::uint32_t id : unstamped_)
    if (RecvOp* const op = receiver_.find_pull(id); op != nullptr && op->pull_at.ns == 0) {
      op->pull_at = now_;
      rate_.on_left(now_);
    }
  unstamped_.clear();
}

void BulkReceiver::on_pulled(const RecvOp& op) noexcept {
  if (op.pull_at.ns != 0) choice_.on_timed(op.from_peer, op.by_bulk, rate_.bytes(), rate_.took(now_));
}

// A receive that has all bytes, or asked for them again, needs nothing.
bool BulkReceiver::on_lost(PeerId from, const BulkLostPacket& packet) noexcept {
  RecvOp* const op = receiver_.find_pull(packet.receive_id);
  if (op == nullptr || op->from_peer != from || !op->by_bulk) return true;
  broken_.push_back(from);
  ++resumed_;
  receiver_.resume(*op);
  return true;
}

void BulkReceiver::on_connected(PeerId from, BulkSession session) {
  if (connections_.contains(from)) on_closed(from);
  connections_[from].session = std::move(session);
  choice_.on_connected(from);
}

void BulkReceiver::on_closed(PeerId from) noexcept {
  std::erase(broken_, from);
  if (connections_.erase(from) == 0) return;
  choice_.on_closed(now_, from);
  receiver_.for_each_pull([&](RecvOp& op) {
    if (op.from_peer != from || !op.by_bulk) return;
    ++resumed_;
    receiver_.resume(op);
  });
}

PeerId BulkReceiver::take_broken() noexcept {
  if (broken_.empty()) return -1;
  const PeerId from = broken_.back();
  broken_.pop_back();
  return from;
}

BulkReceiver::Target BulkReceiver::find(PeerId from, const Connection& one, RecvOp*& op) const noexcept {
  op = receiver_.find_pull(one.head.receive_id);
  if (one.drops || op == nullptr || op->from_peer != from || !op->by_bulk) return Target::none;
  return op->arriving.linked() ? Target::later : Target::ready;  // its push comes first
}

std::size_t BulkReceiver::room(PeerId from, Parts& parts) noexcept {
  const auto at = connections_.find(from);
  if (at == connections_.end()) return 0;
  Connection& one = at->second;
  auto* const head = reinterpret_cast<std::byte*>(&one.head);
  if (one.have < sizeof one.head) {
    parts[0] = {head + one.have, sizeof one.head - one.have};
    return 1;
  }
  const std::size_t done = one.have - sizeof one.head;
  if (done >= one.head.bytes) {
    parts[0] = std::span(one.trailer).subspan(done - one.head.bytes);
    return 1;
  }
  const std::size_t left = one.head.bytes - done;
  RecvOp* op = nullptr;
  switch (find(from, one, op)) {
    case Target::later: return 0;
    case Target::none:
      if (dropped_.empty()) dropped_.resize(kDropAtOnce);
      parts[0] = {dropped_.data(), std::min(left, kDropAtOnce)};
      return 1;
    case Target::ready: break;
  }
  if (one.head.offset != op->data.position()) {  // take_body() refuses it
    parts[0] = {head, 1};
    return 1;
  }
  // Each frame is followed by a head sooner or later: to read both at once saves a call for each frame.
  std::size_t used = 0;
  parts[used++] = {static_cast<std::byte*>(op->data.contiguous_at()) + done, left};
  if (one.session.is_sealed()) parts[used++] = std::span(one.trailer).first(one.session.trailer_bytes());
  parts[used++] = {reinterpret_cast<std::byte*>(&one.next), sizeof one.next};
  return used;
}

bool BulkReceiver::begin_frame(Connection& one) const noexcept {
  one.checksum = 0;
  one.drops = false;
  return one.head.tag == one.session.head_tag(one.number++, one.head) && one.head.zero == 0 &&
         one.head.bytes != 0 && one.head.bytes <= kMostBulk;
}

bool BulkReceiver::is_whole(Connection& one, std::byte* text) noexcept {
  if (!one.session.is_sealed()) return one.checksum == one.head.checksum;
  return one.session.open(one.number - 1, one.head, {text, one.head.bytes}, one.trailer);
}

bool BulkReceiver::take_body(PeerId from, Connection& one, std::size_t bytes) noexcept {
  const std::size_t done = one.have - sizeof one.head;
  RecvOp* op = nullptr;
  if (find(from, one, op) != Target::ready) {
    one.drops = true;
  } else {
    if (one.head.offset != op->data.position() || one.head.bytes > op->expected - op->data.position())
      return false;
    if (!one.session.is_sealed())
      one.checksum =
          crc32c({static_cast<const std::byte*>(op->data.contiguous_at()) + done, bytes}, one.checksum);
  }
  one.have += bytes;
  if (one.have < sizeof one.head + one.head.bytes + one.session.trailer_bytes()) return true;
  one.have = 0;
  if (one.drops) return true;
  if (!is_whole(one, static_cast<std::byte*>(op->data.contiguous_at()))) return false;
  receiver_.on_bulk(*op, one.head.bytes);
  return true;
}

bool BulkReceiver::take_head(PeerId from, Connection& one, std::size_t bytes) noexcept {
  one.have += bytes;
  if (one.have < sizeof one.head) return true;
  if (!begin_frame(one)) return false;
  RecvOp* op = nullptr;
  if (find(from, one, op) == Target::none) return true;
  return one.head.offset <= op->expected && one.head.bytes <= op->expected - one.head.offset;
}

bool BulkReceiver::on_read(PeerId from, std::size_t bytes) noexcept {
  const auto at = connections_.find(from);
  if (at == connections_.end()) return true;
  Connection& one = at->second;
  bool good = true;
  if (one.have >= sizeof one.head) {
    const std::size_t frame = sizeof one.head + one.head.bytes + one.session.trailer_bytes();
    const std::size_t body = std::min(bytes, frame - one.have);
    good = take_body(from, one, body);
    bytes -= body;
    if (bytes != 0) one.head = one.next;
  }
  if (good && bytes != 0) good = take_head(from, one, bytes);
  refused_ += good ? 0 : 1;
  return good;
}

}  // namespace herald::p2p
