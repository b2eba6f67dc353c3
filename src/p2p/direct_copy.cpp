// SPDX-License-Identifier: BSD-3-Clause
#include "p2p/direct_copy.hpp"

#include <algorithm>
#include <cstring>

#include "p2p/receiver.hpp"
#include "p2p/sender.hpp"

namespace herald::p2p {

using namespace wire;

namespace {

constexpr std::uint64_t kShortRun = 512;  // runs that are shorter than this, on average, are packed instead
// Turns until a sender looks for an ad that came after its eager packet: a receiver that is in the library
// answers sooner, and the look would take the cache line from it.
constexpr std::uint32_t kTurnsBeforeAds = 32;
// So many messages under way in both directions keep both sides busy: each then copies what it receives, if
// that is at most kMaxWhole. If it is at most kMaxSmall, one direction is enough.
constexpr int kMany = 3;
constexpr std::uint64_t kMaxSmall = 24 * 1024;
constexpr std::uint64_t kMaxWhole = 256 * 1024;

// Whether the first runs of the memory are worth a system call.
bool has_long_runs(const type::Cursor& data) noexcept {
  if (data.contiguous()) return true;
  type::Cursor look = data;
  type::Run runs[kMaxRuns];
  look.seek(0);
  const std::size_t count = look.next_runs(runs, static_cast<std::size_t>(look.total()));
  return look.position() >= count * kShortRun;
}

}  // namespace

void DirectCopy::add_peer(PeerId id, SplitCopy* theirs, PeerId me) noexcept {
  peers_[id].direct = true;
  if (theirs_.size() < peers_.size()) theirs_.resize(peers_.size());
  theirs_[static_cast<std::size_t>(id)] = {theirs, me};
}

// Sends that write to its memory end by themselves.
void DirectCopy::on_peer_gone(PeerId id) noexcept {
  split_copies_.release_all(id);
  if (static_cast<std::size_t>(id) < theirs_.size()) theirs_[static_cast<std::size_t>(id)] = {};
}

bool DirectCopy::runs_fit(const SendOp& op, std::size_t room) const noexcept {
  if (op.data.contiguous()) return true;
  type::Cursor look = op.data;
  type::Run runs[kMaxRuns];
  const std::size_t most = std::min(kMaxRuns, (room - sizeof(EagerPacket)) / sizeof(RunPart));
  const std::size_t count = look.next_runs({runs, most}, static_cast<std::size_t>(look.total()));
  return look.remaining() == 0 && look.total() / count >= kShortRun;
}

std::uint32_t DirectCopy::write_runs(const SendOp& op, std::span<std::byte> room) noexcept {
  type::Cursor look = op.data;
  type::Run runs[kMaxRuns];
  const std::size_t count = look.next_runs(runs, static_cast<std::size_t>(look.total()));
  for (std::size_t i = 0; i < count; ++i) {
    const RunPart part{reinterpret_cast<std::uintptr_t>(runs[i].data), runs[i].bytes};
    std::memcpy(room.data() + i * sizeof part, &part, sizeof part);
  }
  return static_cast<std::uint32_t>(count);
}

// False: the eager packet contradicts itself, and nothing of it is followed.
bool DirectCopy::read_runs(DirectRead& direct, const Envelope& envelope, const std::byte* runs,
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
  if (direct.broken) (void)done_.bad_packet();
  return !direct.broken;
}

// A second system call for the other half of the message would cost more than it brings.
bool DirectCopy::is_copied_by_one(std::uint64_t bytes) const noexcept {
  if (bytes > kMaxWhole) return false;
  return oversubscribed_ ||
         (reads_.has(kMany) && (bytes <= kMaxSmall || awaiting_ads_.has(kMany) || writes_.has(kMany)));
}

bool DirectCopy::begin_read(RecvOp& op, const Envelope& envelope, const std::byte* runs,
                            std::uint64_t wanted) noexcept {
  if (!peers_[envelope.from].direct || !has_long_runs(op.data)) return false;
  DirectRead* direct = pool_.get();
  if (direct == nullptr) return false;
  if (!read_runs(*direct, envelope, runs, wanted)) {
    pool_.put(direct);
    return false;
  }
  direct->split_copy = &direct->alone;
  const bool shared =
      op.data.contiguous() && wanted / kShareUnit < kMaxUnits && !is_copied_by_one(envelope.bytes);
  const std::uint32_t index = shared ? split_copies_.take(envelope.from) : kAllSplitCopies;
  direct->index = index;
  if (index < kAllSplitCopies) direct->split_copy = &split_copies_.at(index);
  direct->share = direct->split_copy->begin(wanted, op.at_once, index == kAllSplitCopies);
  op.direct = direct;
  reads_.push_back(op);
  if (index == kAllSplitCopies) return true;
  peers_.send_control(envelope.from,
                      SplitCopyPacket{p2p_prefix(P2pKind::split_copy), envelope.send_id, envelope.seq, index,
                                      wanted, reinterpret_cast<std::uintptr_t>(op.data.contiguous_at())});
  return true;
}

bool DirectCopy::on_split_copy(PeerId from, const SplitCopyPacket& packet) noexcept {
  if (packet.split_copy >= kSplitCopies) return false;
  SendOp* op = sender_.find(from, packet.send_id, packet.seq);
  const bool good = op != nullptr && op->phase == SendPhase::pushed && op->direct &&
                    op->split_copy == nullptr && packet.bytes <= op->data.total();
  SplitCopy* theirs = peers_[from].direct ? theirs_of(from).split_copies : nullptr;
  if (theirs == nullptr) {  // the receiver may use the split copy again
    peers_.send_control(from, SplitCopyDonePacket{p2p_prefix(P2pKind::split_copy_done), packet.split_copy});
    return good;
  }
  if (!good) {
    theirs[packet.split_copy].released.store(1, std::memory_order_release);
    return false;
  }
  op->split_copy = &theirs[packet.split_copy];
  op->there = packet.address;
  op->end = packet.bytes;
  op->unlink();
  writes_.push_back(*op);
  return true;
}

void DirectCopy::await_receiver(SendOp& op) noexcept {
  turns_awaiting_ads_ = 0;
  if (!take_ad(op)) awaiting_ads_.push_back(op);
}

bool DirectCopy::take_ad(SendOp& op) noexcept {
  const Theirs theirs = theirs_of(op.to);
  if (theirs.split_copies == nullptr || theirs.me < 0) return false;
  SplitCopy& split_copy = theirs.split_copies[kSplitCopies + static_cast<std::uint32_t>(theirs.me) % kAds];
  const std::uint64_t where = split_copy.take_ad(
      {.context = op.context, .from = theirs.me, .tag = op.tag, .seen = op.seq}, op.data.total());
  if (where == 0) return false;
  op.split_copy = &split_copy;
  op.there = where;
  op.end = op.data.total();
  op.unlink();
  writes_.push_back(op);
  return true;
}

void DirectCopy::stop_writing(SendOp& op) noexcept {
  if (op.split_copy == nullptr) return;
  op.unlink();
  op.split_copy->released.store(1, std::memory_order_release);
  op.split_copy = nullptr;
}

bool DirectCopy::write_some(SendOp& op, Mover& mover) noexcept {
  const Share share = op.split_copy->claim(op.end, false, oversubscribed_ && is_copied_by_one(op.end));
  if (share.empty()) {
    stop_writing(op);
    return true;
  }
  Status status = Status::ok;
  op.data.seek(share.begin);
  while (status == Status::ok && op.data.position() < share.end) {
    type::Run here[kMaxRuns];
    const std::uint64_t at = op.data.position();
    const std::size_t count = op.data.next_runs(here, static_cast<std::size_t>(share.end - at));
    const type::Run there = run_at(op.there + at, op.data.position() - at);
    status = mover.write(op.to, {here, count}, {&there, 1});
  }
  op.split_copy->put(share, status == Status::ok);
  const bool all = op.split_copy->is_all_written(op.end);
  const PeerId to = op.to;
  if (all)
    sender_.finish(op, Status::ok);  // the receiver sees it in the split copy and sends no ack
  else if (status != Status::ok || op.split_copy->is_all_taken(op.end))
    stop_writing(op);
  mover.notify(to);
  return true;
}

bool DirectCopy::read_some(RecvOp& op, Mover& mover) noexcept {
  DirectRead& direct = *op.direct;
  const bool whole = direct.index == kAllSplitCopies || is_copied_by_one(direct.bytes);
  if (direct.share.empty()) direct.share = direct.split_copy->claim(direct.bytes, true, whole);
  if (direct.share.empty() || direct.broken) return end_read(op);
  op.data.seek(direct.share.begin);
  Status status = Status::ok;
  while (status == Status::ok && !direct.share.empty()) {
    type::Run here[kMaxRuns], there[kMaxRuns];
    const std::size_t count = op.data.next_runs(here, static_cast<std::size_t>(direct.share.bytes()));
    const std::uint64_t bytes = op.data.position() - direct.share.begin;
    const std::size_t others = direct.slice(direct.share.begin, bytes, there);
    status = mover.read(op.from_peer, {here, count}, {there, others});
    if (status == Status::ok) direct.share.begin += bytes;
  }
  if (status == Status::ok) {
    direct.share = direct.split_copy->claim(direct.bytes, true, whole);
    if (direct.share.empty()) (void)end_read(op);
    return true;
  }
  direct.broken = true;
  direct.split_copy->take_rest(direct.bytes);
  return end_read(op);
}

// All is claimed; the sender may still be copying its last share.
bool DirectCopy::end_read(RecvOp& op) noexcept {
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
  if (!direct.split_copy->is_all_written(direct.bytes)) receiver_.ack(envelope);
  op.bytes = direct.bytes;
  receiver_.finish(op);
  return true;
}

// These bytes come as data; the others count as received now.
void DirectCopy::pull_rest(RecvOp& op, std::uint64_t begin, std::uint64_t end) noexcept {
  DirectRead& direct = *op.direct;
  peers_[op.from_peer].direct = false;
  op.unlink();
  op.data.seek(begin);
  op.expected = end;
  op.bytes = direct.bytes - (end - begin);
  peers_.send_control(op.from_peer, PullPacket{p2p_prefix(P2pKind::pull), direct.send_id, direct.seq, op.id,
                                               begin, end - begin});
  receiver_.leave_direct(op);
}

DirectRead* DirectCopy::make_ad_record(PeerId peer) noexcept {
  const std::uint32_t index = split_copies_.take_for_ad(peer);
  if (index == kAllSplitCopies) return nullptr;
  DirectRead* direct = pool_.get();
  if (direct == nullptr) {
    split_copies_.release(index);
    return nullptr;
  }
  direct->index = index;
  direct->split_copy = &split_copies_.at(index);
  return direct;
}

// Should we not be able to read the sender's memory, it goes on alone, and what it cannot write is pulled.
void DirectCopy::begin_advertised(RecvOp& op, const Envelope& envelope, const std::byte* runs) noexcept {
  DirectRead& direct = *op.direct;
  const bool good = read_runs(direct, envelope, runs, envelope.bytes) && peers_[envelope.from].direct;
  direct.share = {};
  reads_.push_back(op);
  if (!good) {
    direct.share = direct.split_copy->claim(direct.bytes, true);
    direct.broken = true;
    direct.split_copy->take_rest(direct.bytes);
  }
  if (!good || direct.split_copy->is_all_written(direct.bytes)) (void)end_read(op);
}

// An ad that no sender took is withdrawn; a sender that took it accesses the split copy until it says so.
void DirectCopy::release(RecvOp& op) noexcept {
  const std::uint32_t index = op.direct->index;
  if (index >= kSplitCopies && index < kAllSplitCopies && !op.direct->split_copy->withdraw())
    split_copies_.await_release(index);
  drop_record(op);
}

void DirectCopy::drop_record(RecvOp& op) noexcept {
  if (op.direct->index < kAllSplitCopies) split_copies_.release(op.direct->index);
  pool_.put(op.direct);
  op.direct = nullptr;
}

bool DirectCopy::advance(Mover& mover) noexcept {
  bool moved = false;
  if (!awaiting_ads_.empty() && ++turns_awaiting_ads_ > kTurnsBeforeAds) {
    SendOp* op = awaiting_ads_.pop_front();
    awaiting_ads_.push_back(*op);
    (void)take_ad(*op);
  }
  SendOp* out = writes_.front();
  if (out != nullptr && !is_copied_by_one(out->end)) {
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
