// SPDX-License-Identifier: BSD-3-Clause
// p2p/core_send.cpp: the sending half of Core, and what goes out.
#include <algorithm>
#include <cstring>
#include <new>

#include "base/fatal.hpp"
#include "p2p/core.hpp"

namespace herald::p2p {

using namespace wire;

Core::Core(const CoreConfig& config) noexcept
    : config_(config),
      most_now_(config.mode == PushMode::zero
                    ? 0
                    : std::min<std::uint64_t>(config.push_bytes,
                                              std::max<std::uint64_t>(config.direct_bytes, 1) - 1)),
      most_remote_now_(config.mode == PushMode::pull ? std::min(config.remote_first, config.most_pushed) : 0),
      peers_(static_cast<std::size_t>(config.peers)),
      recvs_(config.most_pulls),
      header_context_(static_cast<std::size_t>(config.peers)) {}

Core::~Core() {
  contexts_.for_each([this](Context& context) {
    while (Message* message = context.unexpected.front()) {
      context.unexpected.remove(*message);
      message->arriving.unlink();
      messages_.put(message);
    }
  });
  for (Peer& each : peers_)
    while (Control* item = each.control.pop_front()) delete item;
  while (Control* item = free_controls_.pop_front()) delete item;
}

void Core::want(Peer& to) noexcept {
  if (to.linked()) return;
  wanting_.push_back(to);
  ++wanting_count_;
}

void Core::stop_wanting_if_idle(Peer& to) noexcept {
  if (!to.linked() || !to.control.empty() || !to.pushes.empty() || !to.streams.empty()) return;
  to.unlink();
  --wanting_count_;
}

PeerId Core::next_wanting() noexcept {
  Peer* first = wanting_.pop_front();
  if (first == nullptr) return -1;
  wanting_.push_back(*first);
  return static_cast<PeerId>(first - peers_.data());
}

template <class Packet>
void Core::control(PeerId to, const Packet& packet) noexcept {
  static_assert(sizeof packet <= sizeof(Control::bytes));
  Peer& receiver = peer(to);
  if (receiver.gone) return;
  Control* item = free_controls_.pop_front();
  if (item == nullptr) item = new (std::nothrow) Control;
  HERALD_ASSERT(item != nullptr && "no memory for a control packet");
  item->size = sizeof packet;
  std::memcpy(item->bytes, &packet, sizeof packet);
  receiver.control.push_back(*item);
  want(receiver);
}
template void Core::control(PeerId, const PullPacket&) noexcept;
template void Core::control(PeerId, const AckPacket&) noexcept;
template void Core::control(PeerId, const CancelReplyPacket&) noexcept;
template void Core::control(PeerId, const AllowancePacket&) noexcept;
template void Core::control(PeerId, const MeetPacket&) noexcept;
template void Core::control(PeerId, const MovedPacket&) noexcept;
template void Core::control(PeerId, const NoticePacket&) noexcept;

void Core::start(SendOp& op) noexcept {
  Peer& to = peer(op.lane >= 0 ? 0 : op.to);
  op.done = op.cancelled = false;
  op.status = Status::ok;
  op.id = 0;
  op.push_end = op.end = 0;
  op.answered = op.direct = op.borrows = false;
  if (op.data.position() != 0) op.data.seek(0);
  ++sends_under_way_;
  if (trace_ != nullptr) [[unlikely]]
    trace_->add(TraceEvent::send_start, &op, op.to, static_cast<std::int64_t>(op.data.total()), op.tag);
  if (op.lane >= 0) return start_cast(op);
  if (to.gone) return finish_send(op, Status::peer_lost);
  op.phase = SendPhase::queued;
  to.pushes.push_back(op);
  want(to);
}

std::size_t Core::poll_transmit(PeerId id, std::span<std::byte> room, Borrowed* borrowed) noexcept {
  Peer& to = peer(id);
  std::size_t size = 0;
  if (Control* item = to.control.pop_front()) {
    size = item->size;
    std::memcpy(room.data(), item->bytes, size);
    free_controls_.push_front(*item);
  } else {
    while (size == 0 && !to.pushes.empty()) size = write_push(to, *to.pushes.front(), room);
    if (size == 0 && !to.streams.empty()) size = write_data(*to.streams.front(), room, borrowed);
  }
  stop_wanting_if_idle(to);
  return size;
}

Core::Pushed Core::plan_push(Peer& to, std::uint64_t bytes, std::size_t room) const noexcept {
  if (config_.mode == PushMode::zero) return {0, 0};
  const std::size_t limit = std::min<std::size_t>(to.far ? config_.remote_first : config_.push_bytes, room);
  const auto first = static_cast<std::uint32_t>(std::min<std::uint64_t>(bytes, limit));
  std::uint64_t more = to.far ? config_.remote_more : 0;
  if (config_.mode == PushMode::all) more = config_.most_pushed;
  const auto all = static_cast<std::uint32_t>(
      std::min({bytes, first + more, std::uint64_t{std::max(first, config_.most_pushed)}}));
  if (config_.mode == PushMode::all) return {first, all};
  if (!to.far) return to.paused_by_peer ? Pushed{0, 0, true} : Pushed{first, all};
  const std::int64_t left = std::int64_t{static_cast<std::int32_t>(to.push_limit - to.pushed)} - kRecord;
  if (static_cast<std::int64_t>(all) <= left) return {first, all};
  if (static_cast<std::int64_t>(first) <= left) return {first, first, true};
  return {0, 0, true};
}

// 0 if the operation failed instead.
std::size_t Core::write_push(Peer& to, SendOp& op, std::span<std::byte> room) noexcept {
  op.unlink();
  const std::uint64_t bytes = op.data.total();
  Pushed share = plan_push(to, bytes, room.size() - sizeof(PushPacket));
  // An empty message that is held back waits for its receive, as others do.
  const bool synchronous = op.mode == SendMode::synchronous || (share.held_back && bytes == 0);
  op.direct = to.direct && bytes >= config_.direct_bytes && config_.mode != PushMode::all &&
              runs_fit(op, room.size());
  if (op.direct) share = {0, 0};
  const bool answered = synchronous || share.all < bytes;
  if (answered) {
    op.id = sends_.add(op);
    if (op.id == 0) {
      finish_send(op, Status::no_memory);
      return 0;
    }
  }
  op.seq = to.next_seq++;
  to.pushed += share.all + (answered ? 0 : kRecord);
  if (to.far && !answered && share.first == bytes) {
    op.push_end = share.all;
    return write_whole(op, false, room);
  }
  if (to.far) header_context_.say(to, op.context, op.source);
  PushPacket header;
  header.prefix = p2p_prefix(P2pKind::push, synchronous ? kFlagSynchronous : std::uint16_t{0});
  header.seq = op.seq;
  header.context = op.context;
  header.source = op.source;
  header.tag = op.tag;
  header.message_bytes = bytes;
  header.send_id = op.id;
  header.push_bytes = share.all;
  if (op.direct) header.prefix.flags = static_cast<std::uint16_t>(header.prefix.flags | kFlagInPlace);
  std::memcpy(room.data(), &header, sizeof header);
  if (share.first != 0) op.data.pack(room.data() + sizeof header, share.first);
  ++counters_.sent;
  counters_.sent_bytes += bytes;
  op.phase = SendPhase::pushed;
  op.push_end = share.all;
  urgent_ = to.far && share.first < share.all && share.all < bytes && to.streams.empty();
  if (op.direct)
    await_ad(op);
  else if (share.first < share.all)
    to.streams.push_back(op);
  else if (!answered)
    leave(op);
  return sizeof header + (op.direct ? write_runs(op, room.subspan(sizeof header)) : share.first);
}

// All bytes have gone and nobody is asked about them.
void Core::leave(SendOp& op) noexcept {
  op.phase = SendPhase::left;
  --sends_under_way_;
  if (trace_ != nullptr) [[unlikely]]
    trace_->add(TraceEvent::send_done, &op);
  finish(op, Status::ok);
}

std::size_t Core::write_data(SendOp& op, std::span<std::byte> room, Borrowed* borrowed) noexcept {
  const std::uint64_t offset = op.data.position();
  const bool unasked = offset < op.push_end;
  const std::uint64_t end = unasked ? op.push_end : op.end;
  const auto bytes =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(end - offset, room.size() - sizeof(DataPacket)));
  DataPacket header;
  header.prefix = p2p_prefix(P2pKind::data, unasked ? kFlagUnasked : std::uint16_t{0});
  header.id = unasked ? op.seq : op.receive_id;
  header.offset = offset;
  std::memcpy(room.data(), &header, sizeof header);
  const bool borrows = borrowed != nullptr && borrow(op, bytes, *borrowed);
  if (!borrows) op.data.pack(room.data() + sizeof header, bytes);
  if (op.data.position() == end && op.phase != SendPhase::streaming) {  // the push is over
    op.unlink();
    if (op.answered)
      end_send(op);
    else if (op.id == 0)
      leave(op);
  } else if (op.data.position() == op.end && !unasked) {
    end_send(op);
  }
  return sizeof header + (borrows ? 0 : bytes);
}

void Core::finish_send(SendOp& op, Status status) noexcept {
  stop_helping(op);
  op.unlink();
  if (op.id != 0) sends_.remove(op.id);
  op.id = 0;
  op.phase = SendPhase::finished;
  --sends_under_way_;
  if (trace_ != nullptr) [[unlikely]]
    trace_->add(TraceEvent::send_done, &op, static_cast<std::int64_t>(status));
  finish(op, status);
}

void Core::finish(Op& op, Status status) noexcept {
  op.status = status;
  ++counters_.finished;
  if (op.on_done == nullptr)
    op.done = true;
  else
    finished_.push_back(op);
}

bool Core::run_all_finished() noexcept {
  if (running_finished_) return false;
  running_finished_ = true;
  while (Op* op = finished_.pop_front()) {
    op->done = true;
    op->on_done(*op);
  }
  running_finished_ = false;
  return true;
}

void Core::cancel(SendOp& op) noexcept {
  switch (op.phase) {
    case SendPhase::queued:
      op.cancelled = true;
      finish_send(op, Status::ok);
      if (op.lane < 0) stop_wanting_if_idle(peer(op.to));
      return;
    case SendPhase::left:
      if (!op.done || op.lane >= 0 || peer(op.to).gone) return;
      op.id = sends_.add(op);
      if (op.id == 0) return;  // too many to ask: it stays sent
      op.done = false;
      op.phase = SendPhase::recalling;
      ++sends_under_way_;
      break;
    case SendPhase::pushed:
      if (op.lane >= 0) return;
      if (op.id != 0) break;
      op.id = sends_.add(op);
      if (op.id == 0) return;
      op.phase = SendPhase::recalling;  // and goes on meanwhile
      break;
    case SendPhase::idle:
    case SendPhase::streaming:
    case SendPhase::recalling:
    case SendPhase::finished: return;
  }
  CancelPacket packet;
  packet.prefix = p2p_prefix(P2pKind::cancel);
  packet.send_id = op.id;
  packet.seq = op.seq;
  packet.context = op.context;
  control(op.to, packet);
}

bool Core::on_pull(PeerId from, const PullPacket& packet) noexcept {
  SendOp* op = sends_.find(packet.send_id);
  if (op == nullptr || op->to != from || op->seq != packet.seq || op->phase != SendPhase::pushed)
    return false;
  const std::uint64_t offset = packet.offset;
  const std::uint64_t bytes = packet.bytes;
  if (op->direct ? offset > op->data.total() : offset != op->push_end) return false;
  if (bytes == 0 || bytes > op->data.total() - offset) return false;
  if (op->direct) {
    stop_helping(*op);
    op->unlink();
    op->data.seek(offset);
  }
  op->phase = SendPhase::streaming;
  op->receive_id = packet.receive_id;
  op->end = offset + bytes;
  if (!op->linked()) peer(from).streams.push_back(*op);
  want(peer(from));
  return true;
}

bool Core::on_ack(PeerId from, const AckPacket& packet) noexcept {
  SendOp* op = sends_.find(packet.send_id);
  if (op == nullptr || op->to != from || op->seq != packet.seq || op->phase != SendPhase::pushed)
    return false;
  stop_helping(*op);
  if (op->linked() && !op->direct)  // some of the push is still to go
    op->answered = true;
  else
    end_send(*op);
  return true;
}

bool Core::on_allowance(PeerId from, const AllowancePacket& packet) noexcept {
  Peer& to = peer(from);
  const std::uint32_t limit = packet.limit;
  if (!to.far) {
    to.paused_by_peer = limit == 0 && config_.mode != PushMode::all;
    return limit <= 1;
  }
  if (static_cast<std::int32_t>(limit - to.push_limit) > 0) to.push_limit = limit;
  return true;
}

// The receiver answers in order: if it matched the message first, its ack or pull came before this.
bool Core::on_cancel_reply(PeerId from, const CancelReplyPacket& packet) noexcept {
  const bool removed = (packet.prefix.flags & kFlagRemoved) != 0;
  SendOp* op = sends_.find(packet.send_id);
  if (op == nullptr || op->to != from || op->seq != packet.seq) return !removed;
  if (op->phase == SendPhase::streaming) return !removed;
  if (op->phase == SendPhase::pushed && !removed) return true;  // asked twice, or a taken message
  if (!removed && op->linked()) {                               // recalled in vain while it was going
    sends_.remove(op->id);
    op->id = 0;
    op->phase = SendPhase::pushed;
    return true;
  }
  op->cancelled = removed;
  end_send(*op);
  return true;
}

void Core::on_peer_gone(PeerId id) noexcept {
  Peer& lost = peer(id);
  if (lost.gone) return;
  lost.gone = true;
  ++gone_count_;
  while (Control* item = lost.control.pop_front()) free_controls_.push_front(*item);
  while (SendOp* op = lost.pushes.front()) finish_send(*op, Status::peer_lost);
  while (SendOp* op = lost.streams.front()) finish_send(*op, Status::peer_lost);
  while (lost.arriving.pop_front() != nullptr) {
  }
  stop_wanting_if_idle(lost);
  split_copies_.leave_all(id);
  sends_.for_each([&](SendOp& op) {
    if (op.to != id) return;
    const bool was_sent = op.phase == SendPhase::recalling;
    finish_send(op, was_sent ? Status::ok : Status::peer_lost);
  });
  recvs_.for_each([&](RecvOp& op) {
    if (op.phase == RecvPhase::posted || op.from_peer != id) return;
    if (op.direct != nullptr && op.direct->split_copy->is_all_written(op.direct->bytes))
      (void)end_direct(op);  // it went when all was there
    else
      finish_recv(op, Status::peer_lost);
  });
  contexts_.for_each([&](Context& context) {
    while (RecvOp* op = context.posted.take_awaiting(id)) finish_recv(*op, Status::peer_lost);
  });
}

}  // namespace herald::p2p
