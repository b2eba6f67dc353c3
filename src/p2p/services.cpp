// SPDX-License-Identifier: BSD-3-Clause
#include "p2p/services.hpp"

#include <algorithm>
#include <cstring>

#include "base/fatal.hpp"
#include "p2p/receiver.hpp"
#include "p2p/sender.hpp"

namespace herald::p2p {

using namespace wire;

void ServiceOp::set(ServiceId what, std::span<const std::byte> bytes) noexcept {
  HERALD_ASSERT(bytes.size() <= header.size() && "the header of a service call is too long");
  service = what;
  header_bytes = static_cast<std::uint8_t>(bytes.size());
  std::copy(bytes.begin(), bytes.end(), header.begin());
}

void Services::post(ServiceOp& op) noexcept {
  op.announced = false;
  op.mode = SendMode::standard;
  sender_.start(op);
}

void Services::call_with(PeerId to, ServiceId id, std::span<const std::byte> header) noexcept {
  auto* op = static_cast<ServiceOp*>(free_calls_.pop_front());
  if (op == nullptr) op = &calls_.emplace_back();
  op->owner = this;
  op->on_done = [](Op& done) { static_cast<Services*>(done.owner)->free_calls_.push_front(done); };
  op->to = to;
  op->set(id, header);
  post(*op);
}

std::size_t Services::write_packet(ServiceId id, std::span<const std::byte> header,
                                   std::span<const std::byte> payload, std::span<std::byte> room) noexcept {
  const ServicePacket packet{p2p_prefix(P2pKind::service), static_cast<std::uint16_t>(id),
                             static_cast<std::uint16_t>(header.size()), 0, 0};
  if (room.size() < sizeof packet + header.size() + payload.size()) return 0;
  std::memcpy(room.data(), &packet, sizeof packet);
  std::byte* behind = std::copy(header.begin(), header.end(), room.data() + sizeof packet);
  std::copy(payload.begin(), payload.end(), behind);
  return sizeof packet + header.size() + payload.size();
}

std::size_t Services::write_call(ServiceOp& op, std::span<std::byte> room) noexcept {
  const std::size_t head = write_packet(op.service, {op.header.data(), op.header_bytes}, {}, room);
  const std::uint64_t bytes = op.data.total();
  if (bytes <= room.size() - head) {
    op.unlink();
    op.data.pack(room.data() + head, static_cast<std::size_t>(bytes));
    sender_.finish_sent(op);
    return head + static_cast<std::size_t>(bytes);
  }
  op.announced = true;  // it stays first in its queue
  op.context = kServiceContext;
  op.source = 0;
  op.tag = static_cast<std::int32_t>(next_bulk_++ & 0x7fffffff);
  const ServicePacket packet{p2p_prefix(P2pKind::service, kFlagBulk), static_cast<std::uint16_t>(op.service),
                             op.header_bytes, op.tag, bytes};
  std::memcpy(room.data(), &packet, sizeof packet);
  return head;
}

// A call must not overtake one of the same peer that waits.
bool Services::must_wait(PeerId from, const ServiceHandler& handler) const noexcept {
  return (computing_ && !handler.may_run_while_computing) ||
         std::any_of(queued_.begin(), queued_.end(), [&](const Queued& one) { return one.from == from; });
}

Status Services::on_packet(PeerId from, std::span<const std::byte> packet) noexcept {
  const ServiceHandler* const handler = find(as<ServicePacket>(packet).service);
  if (handler == nullptr || !must_wait(from, *handler)) {
    ++taken_;
    run(from, packet);
    return Status::ok;
  }
  if (queued_.size() >= kMaxQueued || queued_bytes_ + packet.size() > kMaxQueuedBytes) return Status::again;
  ++taken_;
  queued_bytes_ += packet.size();
  queued_.push_back({from, {packet.begin(), packet.end()}});
  return Status::ok;
}

bool Services::poll(bool computing) noexcept {
  computing_ = computing;
  bool any = false;
  for (std::size_t i = 0; i < queued_.size();) {
    const auto first = std::find_if(queued_.begin(), queued_.end(),
                                    [&](const Queued& one) { return one.from == queued_[i].from; });
    const ServiceHandler* const handler = find(as<ServicePacket>(queued_[i].packet).service);
    const bool behind = first != queued_.begin() + static_cast<std::ptrdiff_t>(i);
    if (behind || (computing && !handler->may_run_while_computing)) {
      ++i;
      continue;
    }
    const Queued one = std::move(queued_[i]);
    queued_.erase(queued_.begin() + static_cast<std::ptrdiff_t>(i));
    queued_bytes_ -= one.packet.size();
    run(one.from, one.packet);
    any = true;
  }
  return any;
}

// The payload of a call that no handler takes is received, too, into no memory: its sender must finish.
void Services::run(PeerId from, std::span<const std::byte> packet) noexcept {
  const auto& header = as<ServicePacket>(packet);
  const ServiceHandler* const handler = find(header.service);
  const std::size_t bytes = header.header_bytes;
  const ServiceCall call{from, packet.subspan(sizeof header, bytes), packet.subspan(sizeof header + bytes),
                         header.bulk_bytes};
  type::Cursor into;
  const bool good = handler != nullptr && handler->on_call(handler->owner, call, into);
  if (!good) (void)done_.bad_packet();
  const auto id = good ? static_cast<ServiceId>(std::uint16_t{header.service}) : ServiceId::none;
  if (call.bulk_bytes != 0) receive_bulk(id, call, header.bulk_tag, good ? into : type::Cursor{});
}

void Services::receive_bulk(ServiceId id, const ServiceCall& call, std::int32_t tag,
                            const type::Cursor& into) noexcept {
  auto* op = static_cast<BulkRecv*>(free_bulks_.pop_front());
  if (op == nullptr) op = &bulks_.emplace_back();
  op->services = this;
  op->service = id;
  op->header_bytes = static_cast<std::uint8_t>(call.header.size());
  std::copy(call.header.begin(), call.header.end(), op->header.begin());
  op->bulk_bytes = call.bulk_bytes;
  op->context = kServiceContext;
  op->source = op->awaited = call.from;
  op->tag = tag;
  op->data = into;
  op->on_done = [](Op& done) {
    auto& self = static_cast<BulkRecv&>(done);
    self.services->end_bulk(self);
  };
  receiver_.start(*op);
}

void Services::end_bulk(BulkRecv& op) noexcept {
  const ServiceHandler* const handler = find(static_cast<std::uint16_t>(op.service));
  const ServiceCall call{op.awaited, {op.header.data(), op.header_bytes}, {}, op.bulk_bytes};
  if (handler != nullptr && handler->on_bulk != nullptr)
    handler->on_bulk(handler->owner, call, op.status, op.bytes);
  op.data = {};
  free_bulks_.push_front(op);
}

}  // namespace herald::p2p
