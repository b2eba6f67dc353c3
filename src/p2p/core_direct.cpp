// SPDX-License-Identifier: BSD-3-Clause
// p2p/core_direct.cpp: long messages between processes that can reach each other's memory (paper 002,
// cross-space zero buffer): one copy from the sender's buffer to the receiver's.
//
// The push says where the message lies. When it has matched, the receiver reads it; where its own buffer is
// one piece it also names a split copy, and a sender that is in the library writes from the back meanwhile.
// The receiver's ack ends it. If the memory cannot be reached after all, the rest is pulled as ever.
#include <cstring>
#include <new>

#include "p2p/core.hpp"

namespace herald::p2p {

using namespace wire;

namespace {

constexpr std::uint64_t kShortRun = 512;  // runs that are shorter than this, on average, are packed instead
// Turns until a sender looks for an offer that came after its push: a receiver that is here answers sooner,
// and is not to be disturbed.
constexpr std::uint32_t kPatience = 32;
// So many messages under way in both directions keep both sides busy: each then moves what it receives, if
// that is not longer than kMostWhole. If it is not longer than kMostSmall, one direction is enough.
constexpr int kMany = 3;
constexpr std::uint64_t kMostSmall = 24 * 1024;
constexpr std::uint64_t kMostWhole = 256 * 1024;

type::Run run_at(std::uint64_t address, std::uint64_t bytes) noexcept {
  return {reinterpret_cast<void*>(static_cast<std::uintptr_t>(address)), static_cast<std::size_t>(bytes)};
}

// Whether the first runs of the memory are worth a system call.
bool has_long_runs(const type::Cursor& data) noexcept {
  if (data.contiguous()) return true;
  type::Cursor look = data;
  type::Run runs[kMostRuns];
  look.seek(0);
  const std::size_t count = look.next_runs(runs, static_cast<std::size_t>(look.total()));
  return look.position() >= count * kShortRun;
}

}  // namespace

std::size_t DirectRead::slice(std::uint64_t begin, std::uint64_t length,
                              std::span<type::Run> out) const noexcept {
  std::size_t used = 0;
  for (std::uint32_t i = 0; i < runs && length != 0 && used < out.size(); ++i) {
    if (begin >= there[i].bytes) {
      begin -= there[i].bytes;
      continue;
    }
    const std::uint64_t part = std::min<std::uint64_t>(there[i].bytes - begin, length);
    out[used++] = run_at(reinterpret_cast<std::uintptr_t>(there[i].data) + begin, part);
    length -= part;
    begin = 0;
  }
  return used;
}

DirectPool::~DirectPool() {
  while (DirectRead* direct = free_.pop_front()) delete direct;
}

DirectRead* DirectPool::get() noexcept {
  DirectRead* direct = free_.pop_front();
  return direct != nullptr ? direct : new (std::nothrow) DirectRead;
}

std::uint32_t SplitCopies::take(PeerId with) noexcept {
  if (all_ == nullptr) return kAllSplitCopies;
  std::uint32_t index = 0;
  while (index < kSplitCopies && !is_free(index)) ++index;
  if (index == kSplitCopies) return kAllSplitCopies;
  uses_[index] = {.with = with, .ours = true, .theirs = true};
  return index;
}

std::uint32_t SplitCopies::take_for_ad(PeerId with) noexcept {
  const std::uint32_t index = kSplitCopies + static_cast<std::uint32_t>(with) % kAds;
  if (all_ == nullptr || !is_free(index)) return kAllSplitCopies;
  uses_[index] = {.with = with, .ours = true, .theirs = false};
  return index;
}

bool SplitCopies::is_free(std::uint32_t index) const noexcept {
  const Use& use = uses_[index];
  return !use.ours && (!use.theirs || all_[index].left.load(std::memory_order_acquire) != 0);
}

bool SplitCopies::leave_theirs(std::uint32_t index, PeerId with) noexcept {
  if (index >= kAllSplitCopies || !uses_[index].theirs || uses_[index].with != with) return false;
  uses_[index].theirs = false;
  return true;
}

void SplitCopies::leave_all(PeerId with) noexcept {
  for (Use& use : uses_)
    if (use.with == with) use.theirs = false;
}

void Core::set_direct(PeerId id, SplitCopy* theirs) noexcept {
  peer(id).direct = true;
  nears_.resize(peers_.size());
  nears_[static_cast<std::size_t>(id)].theirs = theirs;
}

// Whether the whole message lies in few enough runs to be named in its push.
bool Core::runs_fit(const SendOp& op, std::size_t room) noexcept {
  if (op.data.contiguous()) return true;
  type::Cursor look = op.data;
  type::Run runs[kMostRuns];
  const std::size_t most = std::min(kMostRuns, (room - sizeof(PushPacket)) / sizeof(RunPart));
  const std::size_t count = look.next_runs({runs, most}, static_cast<std::size_t>(look.total()));
  return look.remaining() == 0 && look.total() / count >= kShortRun;
}

std::size_t Core::write_runs(const SendOp& op, std::span<std::byte> room) noexcept {
  type::Cursor look = op.data;
  type::Run runs[kMostRuns];
  const std::size_t count = look.next_runs(runs, static_cast<std::size_t>(look.total()));
  for (std::size_t i = 0; i < count; ++i) {
    const RunPart part{reinterpret_cast<std::uintptr_t>(runs[i].data), runs[i].bytes};
    std::memcpy(room.data() + i * sizeof part, &part, sizeof part);
  }
  return count * sizeof(RunPart);
}

// What the push says; false if it contradicts itself: nothing of it is followed.
bool Core::read_runs(DirectRead& direct, const Envelope& envelope, const std::byte* runs,
                     std::uint64_t wanted) noexcept {
  std::uint64_t covered = 0;
  direct.runs = envelope.runs;
  for (std::uint32_t i = 0; i < envelope.runs; ++i) {
    RunPart part;
    std::memcpy(&part, runs + i * sizeof part, sizeof part);
    direct.there[i] = run_at(part.address, part.bytes);
    covered += std::min<std::uint64_t>(part.bytes, envelope.bytes);
  }
  direct.send_id = envelope.send_id;
  direct.seq = envelope.seq;
  direct.bytes = wanted;
  direct.broken = covered < wanted;
  if (direct.broken) ++counters_.bad_packets;
  return !direct.broken;
}

// Nobody need help with this message: a system call for each half of it would cost more than it brings.
bool Core::is_moved_alone(std::uint64_t bytes) const noexcept {
  if (bytes > kMostWhole) return false;
  return oversubscribed_ ||
         (reads_.has(kMany) && (bytes <= kMostSmall || awaiting_ads_.has(kMany) || writes_.has(kMany)));
}

// False: it is better pulled.
bool Core::begin_direct(RecvOp& op, const Envelope& envelope, const std::byte* runs,
                        std::uint64_t wanted) noexcept {
  if (!peer(envelope.from).direct || !has_long_runs(op.data)) return false;
  DirectRead* direct = directs_.get();
  if (direct == nullptr) return false;
  if (!read_runs(*direct, envelope, runs, wanted)) {
    directs_.put(direct);
    return false;
  }
  direct->split_copy = &direct->alone;
  const bool shared =
      op.data.contiguous() && wanted / kShareUnit < kMostUnits && !is_moved_alone(envelope.bytes);
  const std::uint32_t index = shared ? split_copies_.take(envelope.from) : kAllSplitCopies;
  direct->index = index;
  if (index < kAllSplitCopies) direct->split_copy = &split_copies_.at(index);
  direct->share = direct->split_copy->begin(wanted, op.at_once, index == kAllSplitCopies);
  op.direct = direct;
  reads_.push_back(op);
  if (index == kAllSplitCopies) return true;
  MeetPacket packet;
  packet.prefix = p2p_prefix(P2pKind::meet);
  packet.send_id = envelope.send_id;
  packet.seq = envelope.seq;
  packet.split_copy = index;
  packet.bytes = wanted;
  packet.address = reinterpret_cast<std::uintptr_t>(op.data.contiguous_at());
  control(envelope.from, packet);
  return true;
}

bool Core::on_meet(PeerId from, const MeetPacket& packet) noexcept {
  if (packet.split_copy >= kSplitCopies) return false;
  SendOp* op = sends_.find(packet.send_id);
  const bool good = op != nullptr && op->to == from && op->seq == packet.seq &&
                    op->phase == SendPhase::pushed && op->direct && op->split_copy == nullptr &&
                    packet.bytes <= op->data.total();
  SplitCopy* theirs = peer(from).direct ? near(from).theirs : nullptr;
  if (theirs == nullptr) {
    MovedPacket reply;  // the receiver may use the split copy again
    reply.prefix = p2p_prefix(P2pKind::moved);
    reply.split_copy = packet.split_copy;
    control(from, reply);
    return good;
  }
  if (!good) {
    theirs[packet.split_copy].left.store(1, std::memory_order_release);
    return false;
  }
  op->split_copy = &theirs[packet.split_copy];
  op->there = packet.address;
  op->end = packet.bytes;
  op->unlink();
  writes_.push_back(*op);
  return true;
}

void Core::stop_helping(SendOp& op) noexcept {
  if (op.split_copy == nullptr) return;
  op.unlink();
  op.split_copy->left.store(1, std::memory_order_release);
  op.split_copy = nullptr;
}

bool Core::write_some(SendOp& op, Mover& mover) noexcept {
  const Share share = op.split_copy->claim(op.end, false, oversubscribed_ && is_moved_alone(op.end));
  if (share.empty()) {
    stop_helping(op);
    return true;
  }
  Status status = Status::ok;
  op.data.seek(share.begin);
  while (status == Status::ok && op.data.position() < share.end) {
    type::Run here[kMostRuns];
    const std::uint64_t at = op.data.position();
    const std::size_t count = op.data.next_runs(here, static_cast<std::size_t>(share.end - at));
    const type::Run there = run_at(op.there + at, op.data.position() - at);
    status = mover.write(op.to, {here, count}, {&there, 1});
  }
  op.split_copy->put(share, status == Status::ok);
  const bool all = op.split_copy->is_all_written(op.end);
  const PeerId to = op.to;
  if (all)
    finish_send(op, Status::ok);  // the receiver sees that it need not say so
  else if (status != Status::ok || op.split_copy->is_all_taken(op.end))
    stop_helping(op);
  mover.tell(to);
  return true;
}

bool Core::read_some(RecvOp& op, Mover& mover) noexcept {
  DirectRead& direct = *op.direct;
  const bool whole = direct.index == kAllSplitCopies || is_moved_alone(direct.bytes);
  if (direct.share.empty()) direct.share = direct.split_copy->claim(direct.bytes, true, whole);
  if (direct.share.empty() || direct.broken) return end_direct(op);
  op.data.seek(direct.share.begin);
  Status status = Status::ok;
  while (status == Status::ok && !direct.share.empty()) {
    type::Run here[kMostRuns], there[kMostRuns];
    const std::size_t count = op.data.next_runs(here, static_cast<std::size_t>(direct.share.bytes()));
    const std::uint64_t bytes = op.data.position() - direct.share.begin;
    const std::size_t others = direct.slice(direct.share.begin, bytes, there);
    status = mover.read(op.from_peer, {here, count}, {there, others});
    if (status == Status::ok) direct.share.begin += bytes;
  }
  if (status == Status::ok) {
    direct.share = direct.split_copy->claim(direct.bytes, true, whole);
    if (direct.share.empty()) (void)end_direct(op);
    return true;
  }
  direct.broken = true;
  direct.split_copy->take_rest(direct.bytes);
  return end_direct(op);
}

// All is claimed. What the sender has claimed may still be on its way.
bool Core::end_direct(RecvOp& op) noexcept {
  DirectRead& direct = *op.direct;
  if (direct.split_copy->moved.load(std::memory_order_acquire) != direct.split_copy->back()) return false;
  const std::uint32_t units = SplitCopy::units_of(direct.bytes);
  const std::uint32_t back =
      direct.split_copy->back() - direct.split_copy->failed.load(std::memory_order_acquire);
  const std::uint64_t front =
      direct.share.empty() ? (units - direct.split_copy->back()) * kShareUnit : direct.share.begin;
  const std::uint64_t begin = std::min(front, direct.bytes);
  const std::uint64_t end = std::min(direct.bytes, (units - back) * kShareUnit);
  if (begin < end) {
    pull_rest(op, begin, end);
    return true;
  }
  Envelope envelope;
  envelope.send_id = direct.send_id;
  envelope.seq = direct.seq;
  envelope.from = op.from_peer;
  if (!direct.split_copy->is_all_written(direct.bytes)) answer_unwanted(envelope);
  op.bytes = direct.bytes;
  finish_recv(op, op.status);
  return true;
}

// The memory could not be reached: these bytes come as data. What counts as received is counted when they do.
void Core::pull_rest(RecvOp& op, std::uint64_t begin, std::uint64_t end) noexcept {
  DirectRead& direct = *op.direct;
  peer(op.from_peer).direct = false;
  op.unlink();
  op.data.seek(begin);
  op.expected = end;
  op.bytes = direct.bytes - (end - begin);
  PullPacket packet;
  packet.prefix = p2p_prefix(P2pKind::pull);
  packet.send_id = direct.send_id;
  packet.seq = direct.seq;
  packet.receive_id = op.id;
  packet.offset = begin;
  packet.bytes = end - begin;
  control(op.from_peer, packet);
  leave_direct(op);
}

// An offer that stands is withdrawn; where it was taken the sender looks into the split copy until it says
// so.
void Core::leave_direct(RecvOp& op) noexcept {
  if (op.direct == nullptr) return;
  const std::uint32_t index = op.direct->index;
  if (index >= kSplitCopies && index < kAllSplitCopies && !op.direct->split_copy->withdraw())
    split_copies_.await(index);
  drop_direct(op);
}

void Core::drop_direct(RecvOp& op) noexcept {
  if (op.phase == RecvPhase::posted) forget_ad(op);
  if (op.direct->index < kAllSplitCopies) split_copies_.leave(op.direct->index);
  directs_.put(op.direct);
  op.direct = nullptr;
}

bool Core::move_direct(Mover& mover) noexcept {
  bool moved = false;
  if (!awaiting_ads_.empty() && ++turns_awaiting_ads_ > kPatience) {
    SendOp* op = awaiting_ads_.pop_front();  // each gets its turn
    awaiting_ads_.push_back(*op);
    (void)take_ad(*op);
  }
  SendOp* out = writes_.front();
  if (out != nullptr && !is_moved_alone(out->end)) {
    out->unlink();
    writes_.push_back(*out);
    moved = write_some(*out, mover);
    out = nullptr;
  }
  RecvOp* after = nullptr;
  for (RecvOp* op = reads_.front(); op != nullptr; op = after) {
    after = reads_.next(*op);
    if (read_some(*op, mover)) return true;
  }
  return out != nullptr ? write_some(*out, mover) : moved;
}

}  // namespace herald::p2p
