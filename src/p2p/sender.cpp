// SPDX-License-Identifier: BSD-3-Clause
#include "p2p/sender.hpp"

#include <algorithm>
#include <cstring>

#include "base/copy.hpp"
#include "p2p/casts.hpp"
#include "p2p/services.hpp"

namespace herald::p2p {

using namespace wire;

Sender::Sender(const CoreConfig& config, PeerTable& peers, FlowControl& flow, HeaderContext& headers,
               DirectCopy& direct, Casts& casts, Services& services, BulkSender& bulk,
               Completions& done) noexcept
    : config_(config),
      peers_(peers),
      flow_(flow),
      headers_(headers),
      direct_(direct),
      casts_(casts),
      services_(services),
      bulk_(bulk),
      done_(done),
      zero_copy_(config, peers) {}

inline void Sender::reset(SendOp& op) noexcept {
  op.done = op.cancelled = false;
  op.status = Status::ok;
  op.phase = SendPhase::queued;
  op.id = 0;
  op.push_end = op.end = 0;
  op.answered = op.direct = op.by_bulk = op.borrows = op.held_back = false;
  op.data.seek(0);
}

void Sender::start(SendOp& op) noexcept {
  reset(op);
  ++done_.sends_under_way;
  if (done_.trace != nullptr) [[unlikely]]
    done_.trace->add(TraceEvent::send_start, &op, op.to, static_cast<std::int64_t>(op.data.total()), op.tag);
  if (op.lane >= 0) return casts_.start(op);
  Peer& to = peers_[op.to];
  if (to.gone) return finish(op, Status::peer_lost);
  to.pushes.push_back(op);
  peers_.want(to);
}

[[gnu::always_inline]] inline std::size_t Sender::write_header(Peer& to, const Envelope& message, bool whole,
                                                               std::byte* room) noexcept {
  flow_.on_pushed(to, message.pushed, message.send_id != 0);
  return headers_.write(to, message, whole, room);
}

// Of a message that leaves as one packet.
template <class Send>
[[gnu::always_inline]] inline std::size_t Sender::write_whole_header(Peer& to, const Send& send,
                                                                     std::uint64_t bytes, std::uint32_t seq,
                                                                     std::byte* room) noexcept {
  return write_header(to,
                      {.context = send.context,
                       .bytes = bytes,
                       .source = send.source,
                       .tag = send.tag,
                       .seq = seq,
                       .pushed = static_cast<std::uint32_t>(bytes),
                       .incomplete = send.incomplete},
                      true, room);
}

std::size_t Sender::send_now(const ShortSend& send, std::byte* room) noexcept {
  Peer& to = peers_[send.to];
  const std::size_t head = write_whole_header(to, send, send.bytes, to.next_seq++, room);
  if (!copy_few(room + head, send.data, send.bytes) && send.bytes != 0)
    std::memcpy(room + head, send.data, send.bytes);
  ++done_.counters.finished;
  return head + send.bytes;
}

std::size_t Sender::send_now(SendOp& op, std::byte* room) noexcept {
  Peer& to = peers_[op.to];
  reset(op);
  op.seq = to.next_seq++;
  op.phase = SendPhase::sent;
  const std::uint64_t bytes = op.data.total();
  const std::size_t head = write_whole_header(to, op, bytes, op.seq, room);
  op.data.pack(room + head, bytes);
  done_.finish(op, Status::ok);
  return head + bytes;
}

std::size_t Sender::write_next(Peer& to, std::span<std::byte> room, Borrowed* borrowed) noexcept {
  std::size_t size = 0;
  while (size == 0 && !to.pushes.empty()) size = write_first(to, *to.pushes.front(), room);
  if (size == 0 && !to.streams.empty()) size = write_data(*to.streams.front(), room, borrowed);
  return size;
}

// The first packet of a message. 0: the send failed instead.
std::size_t Sender::write_first(Peer& to, SendOp& op, std::span<std::byte> room) noexcept {
  if (op.is_service && !op.announced) return services_.write_call(static_cast<ServiceOp&>(op), room);
  op.unlink();
  const std::uint64_t bytes = op.data.total();
  FlowControl::Push push = flow_.plan_push(to, bytes, room.size() - sizeof(EagerPacket));
  // An empty message that is held back waits for its receive, as others do.
  const bool synchronous = op.mode == SendMode::synchronous || (push.held_back && bytes == 0);
  op.direct = to.direct && bytes >= config_.direct_bytes && config_.mode != PushMode::all &&
              direct_.runs_fit(op, room.size());
  if (op.direct) push = {0, 0};
  if (synchronous || push.all < bytes) {
    op.id = ids_.add(op);
    if (op.id == 0) {
      finish(op, Status::no_memory);
      return 0;
    }
  }
  op.seq = to.next_seq++;
  op.phase = SendPhase::pushed;
  op.push_end = push.all;
  op.held_back = push.held_back && op.id != 0;
  ++done_.counters.sent;
  done_.counters.sent_bytes += bytes;
  const std::uint32_t runs = op.direct ? DirectCopy::write_runs(op, room.subspan(sizeof(EagerPacket))) : 0;
  const std::size_t head = write_header(to,
                                        {.context = op.context,
                                         .bytes = bytes,
                                         .source = op.source,
                                         .tag = op.tag,
                                         .send_id = op.id,
                                         .seq = op.seq,
                                         .pushed = push.all,
                                         .incomplete = op.incomplete,
                                         .runs = runs},
                                        push.first == bytes, room.data());
  if (op.direct) {
    direct_.await_receiver(op);
    return head + runs * sizeof(RunPart);
  }
  if (push.first != 0) op.data.pack(room.data() + head, push.first);
  urgent_ = to.remote && push.first < push.all && push.all < bytes && to.streams.empty();
  if (push.first < push.all)
    to.streams.push_back(op);
  else if (op.id == 0)
    finish_sent(op);
  return head + push.first;
}

std::size_t Sender::write_data(SendOp& op, std::span<std::byte> room, Borrowed* borrowed) noexcept {
  const std::uint64_t offset = op.data.position();
  const bool pushed = offset < op.push_end;
  const std::uint64_t end = pushed ? op.push_end : op.end;
  const auto bytes =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(end - offset, room.size() - sizeof(DataPacket)));
  const DataPacket header{p2p_prefix(P2pKind::data, pushed ? kFlagPushed : std::uint16_t{0}),
                          pushed ? op.seq : op.receive_id, offset};
  std::memcpy(room.data(), &header, sizeof header);
  const bool borrows = borrowed != nullptr && zero_copy_.borrow(op, bytes, *borrowed);
  if (!borrows) op.data.pack(room.data() + sizeof header, bytes);
  if (pushed && op.by_bulk && op.data.position() == end) {
    op.unlink();
    bulk_.add(op);
  } else if (op.data.position() == end && op.phase != SendPhase::streaming) {  // the push is over
    op.unlink();
    if (op.answered)
      finish_when_returned(op);
    else if (op.id == 0)
      finish_sent(op);
  } else if (op.data.position() == op.end && !pushed) {
    finish_when_returned(op);
  }
  return sizeof header + (borrows ? 0 : bytes);
}

void Sender::finish_sent(SendOp& op) noexcept {
  op.phase = SendPhase::sent;
  --done_.sends_under_way;
  if (done_.trace != nullptr) [[unlikely]]
    done_.trace->add(TraceEvent::send_done, &op);
  done_.finish(op, Status::ok);
}

void Sender::finish(SendOp& op, Status status) noexcept {
  direct_.stop_writing(op);
  if (op.by_bulk) bulk_.forget(op);
  op.unlink();
  if (op.id != 0) ids_.remove(op.id);
  op.id = 0;
  op.phase = SendPhase::finished;
  --done_.sends_under_way;
  if (done_.trace != nullptr) [[unlikely]]
    done_.trace->add(TraceEvent::send_done, &op, static_cast<std::int64_t>(status));
  done_.finish(op, status);
}

// Nothing more is to be sent or received for it.
void Sender::finish_when_returned(SendOp& op) noexcept {
  if (op.by_bulk) bulk_.forget(op);
  if (!zero_copy_.is_borrowed(op)) return finish(op, Status::ok);
  op.unlink();
  op.phase = SendPhase::streaming;
  zero_copy_.await_return(op);
}

void Sender::on_returned(PeerId to, std::uint32_t packets) noexcept {
  zero_copy_.on_returned(to, packets);
  while (SendOp* op = zero_copy_.take_returned()) finish(*op, Status::ok);
}

void Sender::cancel(SendOp& op) noexcept {
  switch (op.phase) {
    case SendPhase::queued:
      op.cancelled = true;
      finish(op, Status::ok);
      if (op.lane < 0) peers_.stop_wanting_if_idle(peers_[op.to]);
      return;
    case SendPhase::sent:
      if (!op.done || op.lane >= 0 || peers_[op.to].gone) return;
      op.id = ids_.add(op);
      if (op.id == 0) return;  // too many requests: it stays sent
      op.done = false;
      op.phase = SendPhase::cancelling;
      ++done_.sends_under_way;
      break;
    case SendPhase::pushed:
      if (op.lane >= 0) return;
      if (op.id != 0) break;
      op.id = ids_.add(op);
      if (op.id == 0) return;
      op.phase = SendPhase::cancelling;  // and goes on meanwhile
      break;
    case SendPhase::idle:
    case SendPhase::streaming:
    case SendPhase::cancelling:
    case SendPhase::finished: return;
  }
  services_.call(op.to, ServiceId::cancel, CancelHeader{op.id, op.seq, op.context});
}

bool Sender::on_pull(PeerId from, const PullPacket& packet) noexcept {
  SendOp* op = find(from, packet.send_id, packet.seq);
  if ((packet.prefix.flags & kFlagResume) != 0) return resume(op, packet);
  if (op == nullptr || op->phase != SendPhase::pushed) return false;
  const std::uint64_t offset = packet.offset;
  const std::uint64_t bytes = packet.bytes;
  if (op->direct ? offset > op->data.total() : offset != op->push_end) return false;
  if (bytes == 0 || bytes > op->data.total() - offset) return false;
  if (op->direct) {
    direct_.stop_writing(*op);
    op->unlink();
    op->data.seek(offset);
  }
  op->phase = SendPhase::streaming;
  op->receive_id = packet.receive_id;
  op->end = offset + bytes;
  op->by_bulk = (packet.prefix.flags & kFlagByBulk) != 0 && !op->direct && bulk_.may_take(*op);
  if (!op->linked() && op->by_bulk) {
    bulk_.add(*op);
    return true;
  }
  if (!op->linked()) peers_[from].streams.push_back(*op);
  peers_.want(peers_[from]);
  return true;
}

// The receiver misses frames. A send that is over, or goes as datagrams anyway, was resumed by its sender.
bool Sender::resume(SendOp* op, const PullPacket& packet) noexcept {
  if (op == nullptr || op->phase != SendPhase::streaming || !op->by_bulk) return true;
  const std::uint64_t offset = packet.offset, bytes = packet.bytes;
  if (offset < op->push_end || offset >= op->end || bytes != op->end - offset) return false;
  if (op->data.position() < op->push_end) {  // its push still goes on
    op->by_bulk = false;
    return true;
  }
  bulk_.forget(*op);
  op->data.seek(offset);
  peers_[op->to].streams.push_back(*op);
  peers_.want(peers_[op->to]);
  return true;
}

bool Sender::on_ack(PeerId from, const AckPacket& packet) noexcept {
  SendOp* op = find(from, packet.send_id, packet.seq);
  if (op != nullptr && op->by_bulk && op->phase == SendPhase::streaming && op->data.position() == op->end) {
    finish_when_returned(*op);
    return true;
  }
  if (op == nullptr || op->phase != SendPhase::pushed) return false;
  direct_.stop_writing(*op);
  if (op->linked() && !op->direct)  // some of the push is still to go
    op->answered = true;
  else
    finish_when_returned(*op);
  return true;
}

bool Sender::on_cancel_reply(void* sender, const ServiceCall& call, type::Cursor&) noexcept {
  return call.header.size() == sizeof(CancelReplyHeader) && call.payload.empty() &&
         static_cast<Sender*>(sender)->end_cancel(call.from, as<CancelReplyHeader>(call.header));
}

// Acks and pulls overtake service calls: if the receiver matched the message first, its answer came before.
bool Sender::end_cancel(PeerId from, const CancelReplyHeader& reply) noexcept {
  const bool removed = reply.removed != 0;
  SendOp* op = find(from, reply.send_id, reply.seq);
  if (op == nullptr || op->phase == SendPhase::streaming) return !removed;
  if (op->phase == SendPhase::pushed && !removed) return true;  // cancelled twice, or a taken message
  if (!removed && op->linked()) {                               // too late, but its push still goes on
    ids_.remove(op->id);
    op->id = 0;
    op->phase = SendPhase::pushed;
    return true;
  }
  op->cancelled = removed;
  finish_when_returned(*op);
  return true;
}

void Sender::on_peer_gone(PeerId id) noexcept {
  Peer& lost = peers_[id];
  while (SendOp* op = lost.pushes.front()) finish(*op, Status::peer_lost);
  while (SendOp* op = lost.streams.front()) finish(*op, Status::peer_lost);
  ids_.for_each([&](SendOp& op) {
    if (op.to != id) return;
    const bool was_sent = op.phase == SendPhase::cancelling;
    finish(op, was_sent ? Status::ok : Status::peer_lost);
  });
}

}  // namespace herald::p2p
