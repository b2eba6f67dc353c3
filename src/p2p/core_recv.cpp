// SPDX-License-Identifier: BSD-3-Clause
// p2p/core_recv.cpp: the receiving half of Core: matching, probing, pulling.
#include <algorithm>
#include <cstring>

#include "p2p/core.hpp"

namespace herald::p2p {

using namespace wire;

void Core::trace_start(const RecvOp& op) const noexcept {
  trace_->add(TraceEvent::recv_start, &op, op.source, static_cast<std::int64_t>(op.data.total()), op.tag);
}

void Core::start(RecvOp& op) noexcept {
  ++receives_under_way_;
  op.done = op.cancelled = false;
  op.status = Status::ok;
  op.id = 0;
  op.bytes = 0;
  if (op.data.position() != 0) op.data.seek(0);
  if (trace_ != nullptr) [[unlikely]]
    trace_start(op);
  Context* context = contexts_.find_or_make(op.context);
  if (context == nullptr) return finish_recv(op, Status::no_memory);
  contexts_.remember(*context);
  Message* message = context->unexpected.find(op.source, op.tag);
  if (message == nullptr && op.awaited >= 0 && peer(op.awaited).gone)
    return finish_recv(op, Status::peer_lost);
  if (message == nullptr) {
    const bool advertised = op.data.total() >= config_.direct_bytes && is_to_be_advertised(op, *context);
    op.phase = RecvPhase::posted;
    context->posted.add(op);
    if (advertised) advertise(op);
    return;
  }
  context->unexpected.remove(*message);
  deliver(op, message);
}

void Core::start_matched(RecvOp& op, Message* message) noexcept {
  ++receives_under_way_;
  op.done = op.cancelled = false;
  op.status = Status::ok;
  op.id = 0;
  op.bytes = 0;
  if (op.data.position() != 0) op.data.seek(0);
  if (trace_ != nullptr) [[unlikely]]
    trace_start(op);
  deliver(op, message);
}

void Core::deliver(RecvOp& op, Message* message) noexcept {
  deliver(op, message->envelope, message->payload(), message->arrived);
  drop(message);
}

// The message has found its receive: place what has come, ask for what is not pushed and fits.
void Core::deliver(RecvOp& op, const Envelope& envelope, const std::byte* payload,
                   std::uint32_t arrived) noexcept {
  if (op.direct != nullptr) end_ad(op, envelope);
  op.from_source = envelope.source;
  op.from_tag = envelope.tag;
  const std::uint64_t room = op.data.total();
  const std::uint64_t wanted = std::min(envelope.bytes, room);
  const Status status = envelope.bytes > room ? Status::truncated : Status::ok;
  const auto placed = static_cast<std::size_t>(std::min<std::uint64_t>(arrived, room));
  if (placed != 0) op.data.unpack(payload, placed);
  op.bytes = placed;
  op.status = status;
  if (placed == wanted) {
    answer_unwanted(envelope);
    return finish_recv(op, status);
  }
  if (peer(envelope.from).gone) return finish_recv(op, Status::peer_lost);
  if (op.id == 0) op.id = recvs_.add(op);
  if (op.id == 0) {
    answer_unwanted(envelope);
    return finish_recv(op, Status::no_memory);
  }
  op.phase = RecvPhase::pulling;
  op.from_peer = envelope.from;
  op.expected = wanted;
  if (op.direct != nullptr) return begin_advertised(op, envelope, payload);
  if (arrived < envelope.pushed) {
    op.arriving.seq = envelope.seq;
    op.arriving.cast = envelope.cast;
    op.arriving.end = envelope.pushed;
    op.arriving.op = &op;
    peer(envelope.from).arriving.push_back(op.arriving);
  }
  if (wanted <= envelope.pushed) return answer_unwanted(envelope);
  if (envelope.runs != 0 && begin_direct(op, envelope, payload, wanted)) return;
  PullPacket packet;
  packet.prefix = p2p_prefix(P2pKind::pull);
  packet.send_id = envelope.send_id;
  packet.seq = envelope.seq;
  packet.receive_id = op.id;
  packet.offset = envelope.pushed;
  packet.bytes = wanted - envelope.pushed;
  control(envelope.from, packet);
}

// No more of this message is wanted: its sender, if it waits, need not.
void Core::answer_unwanted(const Envelope& envelope) noexcept {
  if (envelope.send_id == 0) return;
  AckPacket packet;
  packet.prefix = p2p_prefix(P2pKind::ack);
  packet.send_id = envelope.send_id;
  packet.seq = envelope.seq;
  control(envelope.from, packet);
}

void Core::finish_recv(RecvOp& op, Status status) noexcept {
  op.unlink();
  op.arriving.unlink();
  release_id(op);
  leave_direct(op);
  op.phase = RecvPhase::finished;
  --receives_under_way_;
  if (trace_ != nullptr) [[unlikely]]
    trace_->add(TraceEvent::recv_done, &op, op.from_source, static_cast<std::int64_t>(op.bytes), op.from_tag);
  if (!op.cancelled && (status == Status::ok || status == Status::truncated)) {
    ++counters_.received;
    counters_.received_bytes += op.bytes;
  }
  finish(op, status);
}

Message* Core::find_message(std::uint64_t id, std::int32_t source, std::int32_t tag, Found& found) noexcept {
  Context* context = contexts_.find(id);
  if (context == nullptr) return nullptr;
  Message* message = context->unexpected.find(source, tag);
  if (message == nullptr) return nullptr;
  found.source = message->envelope.source;
  found.tag = message->envelope.tag;
  found.bytes = message->envelope.bytes;
  return message;
}

bool Core::probe(std::uint64_t context, std::int32_t source, std::int32_t tag, Found& found) noexcept {
  if (find_message(context, source, tag, found) == nullptr) return false;
  found.message = nullptr;
  return true;
}

bool Core::take(std::uint64_t context, std::int32_t source, std::int32_t tag, Found& found) noexcept {
  Message* message = find_message(context, source, tag, found);
  if (message == nullptr) return false;
  contexts_.find(context)->unexpected.remove(*message);
  found.message = message;
  return true;
}

void Core::cancel(RecvOp& op) noexcept {
  if (op.phase != RecvPhase::posted) return;
  if (op.direct != nullptr && !withdraw(op)) return;  // its message is being moved already
  contexts_.find(op.context)->posted.remove(op);
  op.cancelled = true;
  finish_recv(op, Status::ok);
}

void Core::forget_context(std::uint64_t id) noexcept {
  Context* context = contexts_.find_or_make(id);
  if (context == nullptr) return;
  while (Message* message = context->unexpected.front()) {
    context->unexpected.remove(*message);
    answer_unwanted(message->envelope);
    drop(message);
    ++counters_.late;
  }
  contexts_.forget(*context);
}

Status Core::on_packet(PeerId from, std::span<const std::byte> packet) noexcept {
  P2pKind kind{};
  bool good = from >= 0 && static_cast<std::size_t>(from) < peers_.size();
  if (good && is_whole_push(packet)) {
    const std::uint32_t seq = as<PushPacket>(packet).seq;
    const Status status = take_push(from, as<PushPacket>(packet), packet.subspan(sizeof(PushPacket)));
    if (status == Status::ok) hear(from, seq, false);
    return status;
  }
  good = good && decode(packet, kind);
  if (good) {
    switch (kind) {
      case P2pKind::push: return on_push(from, packet);
      case P2pKind::pull: good = on_pull(from, as<PullPacket>(packet)); break;
      case P2pKind::data: return on_data(from, packet);
      case P2pKind::ack: good = on_ack(from, as<AckPacket>(packet)); break;
      case P2pKind::cancel: on_cancel(from, as<CancelPacket>(packet)); break;
      case P2pKind::cancel_reply: good = on_cancel_reply(from, as<CancelReplyPacket>(packet)); break;
      case P2pKind::goodbye: on_peer_gone(from); break;
      case P2pKind::allowance: good = on_allowance(from, as<AllowancePacket>(packet)); break;
      case P2pKind::meet: good = on_meet(from, as<MeetPacket>(packet)); break;
      case P2pKind::invite:
      case P2pKind::dismiss: good = false; break;  // come by lanes only (LaneCarrier)
      case P2pKind::bundle: return on_bundle(from, packet);
      case P2pKind::moved: good = split_copies_.leave_theirs(as<MovedPacket>(packet).split_copy, from); break;
      case P2pKind::notice: good = on_notice(from, as<NoticePacket>(packet)); break;
      case P2pKind::whole: return on_whole(from, packet);
      case P2pKind::again: return on_again(from, packet);
    }
  }
  if (!good) ++counters_.bad_packets;
  return Status::ok;
}

bool Core::on_notice(PeerId from, const NoticePacket& packet) noexcept {
  const std::uint32_t what = packet.what, member = packet.member;
  if ((what != kNoticeDeaf && what != kNoticeLoses) || member >= peers_.size()) return false;
  if (notices_.size() < kMostNotices)
    notices_.push_back({from, static_cast<PeerId>(member), what, packet.amount});
  return true;
}

Status Core::on_push(PeerId from, std::span<const std::byte> packet) noexcept {
  const auto& header = as<PushPacket>(packet);
  const std::uint16_t flags = header.prefix.flags;
  const Status status = take_push(from, header, packet.subspan(sizeof header));
  if (status != Status::ok || (flags & kFlagCast) != 0) return status;
  hear(from, header.seq, (flags & kFlagInPlace) != 0);
  if (peer(from).far) header_context_.hear(peer(from), {header.context, header.source, header.seq + 1});
  return status;
}

Status Core::take_push(PeerId from, const PushPacket& header, std::span<const std::byte> body) noexcept {
  const std::byte* payload = body.data();
  const auto behind = static_cast<std::uint32_t>(body.size());
  if (!peer(from).far && trace_ == nullptr && is_whole(header, behind)) {
    Context* context = contexts_.find(header.context);
    RecvOp* op = context == nullptr ? nullptr : context->posted.take_roomy(header.source, header.tag, behind);
    if (op != nullptr) {
      --receives_under_way_;
      if (op->direct != nullptr) end_ad(*op);
      place(*op, header, payload, behind);
      return Status::ok;
    }
  }
  const bool direct = (header.prefix.flags & kFlagInPlace) != 0;
  const Envelope envelope{.context = header.context,
                          .bytes = header.message_bytes,
                          .source = header.source,
                          .tag = header.tag,
                          .from = from,
                          .send_id = header.send_id,
                          .seq = header.seq,
                          .pushed = header.push_bytes,
                          .cast = (header.prefix.flags & kFlagCast) != 0,
                          .runs = direct ? behind / std::uint32_t{sizeof(RunPart)} : 0};
  const std::uint32_t arrived = direct ? 0 : behind;
  const bool answered = envelope.pushed < envelope.bytes || (header.prefix.flags & kFlagSynchronous) != 0;
  if (envelope.pushed > envelope.bytes || envelope.pushed > std::max(arrived, config_.most_pushed) ||
      answered != (envelope.send_id != 0)) {
    ++counters_.bad_packets;
    return Status::ok;
  }
  Context* context = contexts_.find_or_make(envelope.context);
  if (context == nullptr) return Status::no_memory;
  if (RecvOp* op = context->posted.take(envelope.source, envelope.tag)) {
    deliver(*op, envelope, payload, arrived);
    if (!envelope.cast) consume(from, arrived + record_of(envelope));
    return Status::ok;
  }
  if (context->forgotten) {
    ++counters_.late;
    answer_unwanted(envelope);
    if (!envelope.cast) consume(from, arrived + record_of(envelope));
    return Status::ok;
  }
  if (envelope.cast && holds_back(from, envelope.context, sizeof(Message) + arrived)) return Status::again;
  Message* message = messages_.get(direct ? behind : envelope.pushed);
  if (message == nullptr) return Status::no_memory;
  message->envelope = envelope;
  message->arrived = arrived;
  keep(*message);
  if (behind != 0) std::memcpy(message->payload(), payload, behind);
  if (arrived < envelope.pushed) {
    message->arriving.seq = envelope.seq;
    message->arriving.cast = envelope.cast;
    message->arriving.end = envelope.pushed;
    message->arriving.message = message;
    peer(from).arriving.push_back(message->arriving);
  }
  context->unexpected.add(*message);
  ++counters_.unexpected;
  return Status::ok;
}

Status Core::on_data(PeerId from, std::span<const std::byte> packet) noexcept {
  const auto& header = as<DataPacket>(packet);
  if ((header.prefix.flags & kFlagUnasked) != 0) return on_unasked(from, packet);
  RecvOp* op = recvs_.find(header.id);
  if (op == nullptr || op->from_peer != from || op->arriving.linked() || op->direct != nullptr) return bad();
  const auto bytes = static_cast<std::uint32_t>(packet.size() - sizeof header);
  if (header.offset != op->data.position() || bytes > op->expected - op->data.position()) return bad();
  op->data.unpack(packet.data() + sizeof header, bytes);
  op->bytes += bytes;
  if (op->data.position() == op->expected) finish_recv(*op, op->status);
  return Status::ok;
}

// More of a push. Nobody may want it any more: then it is let go.
Status Core::on_unasked(PeerId from, std::span<const std::byte> packet) noexcept {
  const auto& header = as<DataPacket>(packet);
  const bool cast = (header.prefix.flags & kFlagCast) != 0;
  const std::byte* payload = packet.data() + sizeof header;
  const auto bytes = static_cast<std::uint32_t>(packet.size() - sizeof header);
  List<Arriving>& arriving = peer(from).arriving;
  Arriving* item = arriving.front();
  while (item != nullptr && (item->seq != header.id || item->cast != cast)) item = arriving.next(*item);
  if (item == nullptr) {
    if (!cast) consume(from, bytes);
    return Status::ok;
  }
  const std::uint64_t arrived = item->message != nullptr ? item->message->arrived : item->op->data.position();
  if (header.offset != arrived || bytes > item->end - arrived) return bad();
  if (cast && item->message != nullptr) {
    if (holds_back(from, item->message->envelope.context, bytes)) return Status::again;
    cast_held(from) += bytes;
  }
  if (arrived + bytes == item->end) item->unlink();
  if (Message* message = item->message) {
    std::memcpy(message->payload() + arrived, payload, bytes);
    message->arrived += bytes;
    return Status::ok;
  }
  RecvOp& op = *item->op;
  const auto placed = static_cast<std::size_t>(std::min<std::uint64_t>(bytes, op.expected - arrived));
  op.data.unpack(payload, placed);
  op.bytes += placed;
  if (op.data.position() == op.expected) finish_recv(op, op.status);
  if (!cast) consume(from, bytes);
  return Status::ok;
}

void Core::on_cancel(PeerId from, const CancelPacket& packet) noexcept {
  Context* context = contexts_.find(packet.context);
  Message* message = context == nullptr ? nullptr : context->unexpected.find_seq(from, packet.seq);
  if (message != nullptr) {
    context->unexpected.remove(*message);
    drop(message);
  }
  CancelReplyPacket reply;
  reply.prefix = p2p_prefix(P2pKind::cancel_reply, message != nullptr ? kFlagRemoved : std::uint16_t{0});
  reply.send_id = packet.send_id;
  reply.seq = packet.seq;
  control(from, reply);
}

}  // namespace herald::p2p
