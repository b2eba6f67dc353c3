// SPDX-License-Identifier: BSD-3-Clause
#include "p2p/receiver.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/copy.hpp"
#include "base/fatal.hpp"
#include "p2p/services.hpp"

namespace herald::p2p {

using namespace wire;

namespace {

void trace_growth(Trace& trace, std::uint64_t held, const Envelope& envelope) noexcept {
  constexpr std::uint64_t kFirst = 16;
  if (held >= kFirst && std::has_single_bit(held))
    trace.add(TraceEvent::unexpected, std::uint64_t{0}, static_cast<std::int64_t>(held), envelope.source,
              envelope.tag);
}

}  // namespace

Receiver::Receiver(const CoreConfig& config, PeerTable& peers, FlowControl& flow, HeaderContext& headers,
                   Matcher& matcher, DirectCopy& direct, PostedRecvAds& ads, Services& services,
                   BulkReceiver& bulk, Completions& done) noexcept
    : config_(config),
      peers_(peers),
      flow_(flow),
      headers_(headers),
      matcher_(matcher),
      direct_(direct),
      ads_(ads),
      services_(services),
      bulk_(bulk),
      done_(done),
      ids_(config.most_pulls) {}

void Receiver::prepare(RecvOp& op) noexcept {
  ++done_.receives_under_way;
  op.done = op.cancelled = false;
  op.status = Status::ok;
  op.id = 0;
  op.bytes = 0;
  if (op.data.position() != 0) op.data.seek(0);
  if (done_.trace != nullptr) [[unlikely]]
    done_.trace->add(TraceEvent::recv_start, &op, op.source, static_cast<std::int64_t>(op.data.total()),
                     op.tag);
}

void Receiver::end(RecvOp& op, Status status) noexcept {
  op.unlink();
  op.arriving.unlink();
  release_id(op);
  if (op.direct != nullptr) leave_direct(op);
  op.phase = RecvPhase::finished;
  --done_.receives_under_way;
  if (done_.trace != nullptr) [[unlikely]]
    done_.trace->add(TraceEvent::recv_done, &op, op.awaited >= 0 ? op.awaited : op.from_source,
                     static_cast<std::int64_t>(op.bytes), op.from_tag);
  done_.finish(op, status);
}

// Not inline: a caller would spend more on saving registers than on the counters.
[[gnu::noinline]] void Receiver::finish(RecvOp& op) noexcept {
  ++done_.counters.received;
  done_.counters.received_bytes += op.bytes;
  end(op, op.status);
}

// The message has found its receive: stores what has come and requests what is not pushed and fits.
[[gnu::always_inline]] inline void Receiver::deliver(RecvOp& op, const Envelope& envelope,
                                                     const std::byte* payload,
                                                     std::uint32_t arrived) noexcept {
  if (op.direct != nullptr) end_ad(op, envelope);
  op.from_source = envelope.source;
  op.from_tag = envelope.tag;
  const std::uint64_t room = op.data.total();
  const std::uint64_t wanted = std::min(envelope.bytes, room);
  op.status = envelope.bytes > room ? Status::truncated : Status::ok;
  if (envelope.bytes > room) [[unlikely]]
    op.sent_bytes = envelope.bytes;
  if (envelope.incomplete) [[unlikely]]
    op.status = Status::peer_lost;
  op.bytes = std::min<std::uint64_t>(arrived, room);
  const auto placed = static_cast<std::size_t>(op.bytes);
  if (op.data.contiguous() && copy_few(op.data.contiguous_at(), payload, placed))
    op.data.skip(placed);
  else if (placed != 0)
    op.data.unpack(payload, placed);
  if (op.bytes != wanted) return deliver_rest(op, envelope, payload, arrived, wanted);
  ack(envelope);
  finish(op);
}

void Receiver::deliver(RecvOp& op, Message* message) noexcept {
  if (done_.trace != nullptr) [[unlikely]]
    done_.trace->add(TraceEvent::late_match, std::uint64_t{0}, message->envelope.source,
                     static_cast<std::int64_t>(message->envelope.bytes), message->envelope.tag);
  deliver(op, message->envelope, message->payload(), message->arrived);
  matcher_.drop(message);
}

[[gnu::always_inline]] inline Status Receiver::accept(const Envelope& envelope,
                                                      std::span<const std::byte> body) noexcept {
  const std::uint32_t arrived = envelope.runs != 0 ? 0 : static_cast<std::uint32_t>(body.size());
  if (envelope.pushed > std::max(arrived, config_.most_pushed)) return done_.bad_packet();
  Context* context = matcher_.find(envelope.context);
  if (context == nullptr) return Status::no_memory;
  RecvOp* const op = context->posted.take(envelope.source, envelope.tag);
  if (op != nullptr || context->forgotten) {
    if (op != nullptr) {
      deliver(*op, envelope, body.data(), arrived);
    } else {
      ++done_.counters.late;
      ack(envelope);
    }
    if (!envelope.cast) flow_.consume(envelope.from, FlowControl::cost_of(envelope, arrived));
    return Status::ok;
  }
  if (envelope.cast && !may_hold_cast(envelope.from, envelope.context, sizeof(Message) + arrived))
    return Status::again;
  Message* message = matcher_.store(*context, envelope, body);
  if (message == nullptr) return Status::no_memory;
  if (done_.trace != nullptr) [[unlikely]]
    trace_growth(*done_.trace, matcher_.messages_held(), envelope);
  if (arrived < envelope.pushed) {
    message->arriving.message = message;
    await_rest(message->arriving, envelope);
  }
  return Status::ok;
}

Status Receiver::on_eager(PeerId from, bool compact, std::span<const std::byte> packet) noexcept {
  Peer& sender = peers_[from];
  Envelope envelope;
  envelope.from = from;
  const std::size_t head = headers_.read(sender, compact, packet, envelope);
  if (head == 0) return done_.bad_packet();
  if (envelope.context == kServiceContext) envelope.source = from;  // not what the sender claims to be
  const Status status = accept(envelope, packet.subspan(head));
  if (status != Status::ok || envelope.cast) return status;
  headers_.on_received(sender, envelope);
  if (!sender.remote) ads_.renew(from);
  return Status::ok;
}

void Receiver::start(RecvOp& op) noexcept {
  prepare(op);
  Context* context = matcher_.open(op.context);
  if (context == nullptr) return end(op, Status::no_memory);
  if (Message* message = context->unexpected.find(op.source, op.tag)) {
    context->unexpected.remove(*message);
    return deliver(op, message);
  }
  if (op.awaited >= 0 && peers_[op.awaited].gone) return end(op, Status::peer_lost);
  const bool advertised = op.data.total() >= config_.direct_bytes && ads_.is_suitable(op, *context);
  op.phase = RecvPhase::posted;
  context->posted.add(op);
  if (!advertised) return;
  op.id = ids_.add(op);
  if (op.id != 0 && !ads_.advertise(op)) release_id(op);
}

void Receiver::start_matched(RecvOp& op, Message* message) noexcept {
  prepare(op);
  deliver(op, message);
}

void Receiver::cancel(RecvOp& op) noexcept {
  if (op.phase != RecvPhase::posted) return;
  if (op.direct != nullptr && !withdraw_ad(op)) return;  // its sender copies already
  matcher_.remove_posted(op);
  op.cancelled = true;
  end(op, Status::ok);
}

std::uint64_t Receiver::forget_context(std::uint64_t context) noexcept {
  std::uint64_t dropped = 0;
  while (Message* message = matcher_.forget(context)) {
    ack(message->envelope);
    matcher_.drop(message);
    ++done_.counters.late;
    ++dropped;
  }
  return dropped;
}

void Receiver::deliver_rest(RecvOp& op, const Envelope& envelope, const std::byte* payload,
                            std::uint32_t arrived, std::uint64_t wanted) noexcept {
  if (peers_[envelope.from].gone) return end(op, Status::peer_lost);
  if (op.id == 0) op.id = ids_.add(op);
  if (op.id == 0) {
    ack(envelope);
    return end(op, Status::no_memory);
  }
  op.phase = RecvPhase::pulling;
  op.by_bulk = false;
  op.from_peer = envelope.from;
  op.expected = wanted;
  if (op.direct != nullptr) return direct_.begin_advertised(op, envelope, payload);
  if (arrived < envelope.pushed) {
    op.arriving.op = &op;
    await_rest(op.arriving, envelope);
  }
  if (wanted <= envelope.pushed) return ack(envelope);
  if (envelope.runs != 0 && direct_.begin_read(op, envelope, payload, wanted)) return;
  op.send_id = envelope.send_id;
  op.send_seq = envelope.seq;
  op.pull_from = envelope.pushed;
  const std::uint16_t flags = peers_[envelope.from].remote ? bulk_.flags_of_pull(op) : std::uint16_t{0};
  peers_.send_control(envelope.from,
                      PullPacket{p2p_prefix(P2pKind::pull, flags), envelope.send_id, envelope.seq, op.id,
                                 envelope.pushed, wanted - envelope.pushed});
}

void Receiver::on_bulk(RecvOp& op, std::uint32_t bytes) noexcept {
  op.data.skip(bytes);
  op.bytes += bytes;
  if (op.pull_at.ns != 0) bulk_.on_bytes(bytes);
  if (op.data.position() != op.expected) return;
  bulk_.on_pulled(op);
  peers_.send_control(op.from_peer, AckPacket{p2p_prefix(P2pKind::ack), op.send_id, op.send_seq});
  finish(op);
}

void Receiver::resume(RecvOp& op) noexcept {
  op.by_bulk = false;
  if (op.pull_at.ns != 0) bulk_.end_timing(op);
  const std::uint64_t from = std::max(op.data.position(), op.pull_from);
  peers_.send_control(op.from_peer, PullPacket{p2p_prefix(P2pKind::pull, kFlagResume), op.send_id,
                                               op.send_seq, op.id, from, op.expected - from});
}

void Receiver::await_rest(Arriving& item, const Envelope& envelope) noexcept {
  item.seq = envelope.seq;
  item.cast = envelope.cast;
  item.end = envelope.pushed;
  peers_[envelope.from].arriving.push_back(item);
}

void Receiver::send_ack(const Envelope& envelope) noexcept {
  peers_.send_control(envelope.from, AckPacket{p2p_prefix(P2pKind::ack), envelope.send_id, envelope.seq});
}

void Receiver::leave_direct(RecvOp& op) noexcept {
  if (op.phase == RecvPhase::posted) ads_.forget(op);
  direct_.release(op);
}

// A message has matched an advertised receive. Only its own long message may have taken the ad.
void Receiver::end_ad(RecvOp& op, const Envelope& envelope) noexcept {
  ads_.forget(op);
  if (withdraw_ad(op)) return;
  HERALD_ASSERT(envelope.from == op.awaited && envelope.runs != 0 && envelope.bytes != 0 &&
                envelope.bytes <= op.data.total() && "an ad in shared memory is damaged");
}

bool Receiver::withdraw_ad(RecvOp& op) noexcept {
  if (!ads_.withdraw(op)) return false;
  release_id(op);
  return true;
}

Status Receiver::on_data(PeerId from, std::span<const std::byte> packet) noexcept {
  const auto& header = as<DataPacket>(packet);
  if ((header.prefix.flags & kFlagPushed) != 0) return on_pushed(from, packet);
  RecvOp* op = ids_.find(header.id);
  if (op == nullptr || op->from_peer != from || op->arriving.linked() || op->direct != nullptr)
    return done_.bad_packet();
  const auto bytes = static_cast<std::uint32_t>(packet.size() - sizeof header);
  if (header.offset != op->data.position() || bytes > op->expected - op->data.position())
    return done_.bad_packet();
  op->data.unpack(packet.data() + sizeof header, bytes);
  op->bytes += bytes;
  op->by_bulk = false;  // the sender preferred datagrams
  if (op->pull_at.ns != 0) bulk_.on_bytes(bytes);
  if (op->data.position() != op->expected) return Status::ok;
  bulk_.on_pulled(*op);
  finish(*op);
  return Status::ok;
}

// More of a push. Bytes of a message that was dropped meanwhile are dropped.
Status Receiver::on_pushed(PeerId from, std::span<const std::byte> packet) noexcept {
  const auto& header = as<DataPacket>(packet);
  const bool cast = (header.prefix.flags & kFlagCast) != 0;
  const std::byte* payload = packet.data() + sizeof header;
  const auto bytes = static_cast<std::uint32_t>(packet.size() - sizeof header);
  List<Arriving>& arriving = peers_[from].arriving;
  Arriving* item = arriving.front();
  while (item != nullptr && (item->seq != header.id || item->cast != cast)) item = arriving.next(*item);
  if (item == nullptr) {
    if (!cast) flow_.consume(from, bytes);
    return Status::ok;
  }
  const std::uint64_t arrived = item->message != nullptr ? item->message->arrived : item->op->data.position();
  if (header.offset != arrived || bytes > item->end - arrived) return done_.bad_packet();
  if (cast && item->message != nullptr) {
    if (!may_hold_cast(from, item->message->envelope.context, bytes)) return Status::again;
    flow_.held_casts(from) += bytes;
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
  if (op.data.position() == op.expected) finish(op);
  if (!cast) flow_.consume(from, bytes);
  return Status::ok;
}

// Collectives that are under way at the same time cast in any order: a cast that a posted receive waits for
// may come behind those that none waits for, and must not be held back with them.
bool Receiver::may_hold_cast(PeerId from, std::uint64_t context, std::size_t bytes) noexcept {
  return flow_.has_room_for_cast(from, bytes) || matcher_.awaits(context, from);
}

Status Receiver::on_bundle(PeerId from, std::span<const std::byte> packet) noexcept {
  const std::span<const std::byte> part = part_for(static_cast<std::uint32_t>(config_.me), packet);
  if (part.empty()) return Status::ok;
  P2pKind kind{};
  if (!decode(part, kind) || kind == P2pKind::eager_compact || (as<P2pPrefix>(part).flags & kFlagCast) == 0)
    return done_.bad_packet();
  if (kind == P2pKind::eager) return on_eager(from, false, part);
  return kind == P2pKind::data ? on_data(from, part) : done_.bad_packet();
}

bool Receiver::on_cancel(void* receiver, const ServiceCall& call, type::Cursor&) noexcept {
  if (call.header.size() != sizeof(CancelHeader) || !call.payload.empty()) return false;
  auto& self = *static_cast<Receiver*>(receiver);
  const auto& request = as<CancelHeader>(call.header);
  Message* const message = self.matcher_.take_sent(request.context, call.from, request.seq);
  if (message != nullptr) self.matcher_.drop(message);
  self.services_.call(call.from, ServiceId::cancel_reply,
                      CancelReplyHeader{request.send_id, request.seq, message != nullptr ? 1u : 0u});
  return true;
}

void Receiver::on_peer_gone(PeerId id) noexcept {
  while (peers_[id].arriving.pop_front() != nullptr) {
  }
  ids_.for_each([&](RecvOp& op) {
    if (op.phase == RecvPhase::posted || op.from_peer != id) return;
    if (op.direct != nullptr && op.direct->split_copy->is_all_written(op.direct->bytes))
      (void)direct_.end_read(op);  // the sender exited when it had written all
    else
      end(op, Status::peer_lost);
  });
  matcher_.take_awaiting(id, [&](RecvOp& op) { end(op, Status::peer_lost); });
}

}  // namespace herald::p2p
