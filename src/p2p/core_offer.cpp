// SPDX-License-Identifier: BSD-3-Clause
// p2p/core_offer.cpp: receives of long messages that come first (paper 002: the late side moves the bytes).
// The receive is offered to its sender in a split copy. A sender whose message is the one that is waited for,
// and which is in the library, takes the offer and moves bytes: half of them, and all if the receiver stays
// away. If it was all, both know that the message is over and nothing more is said.
//
// The order of messages holds because an offer counts the messages of the sender that the receiver has seen:
// it is for the next one and no other, and none of the receives that were posted before fits what it waits
// for. When that message's push comes and the offer still stands, it is withdrawn, and the two meet as ever.
#include "base/fatal.hpp"
#include "p2p/core.hpp"

namespace herald::p2p {

using namespace wire;

bool Core::is_to_be_advertised(const RecvOp& op, Context& context) noexcept {
  return op.awaited >= 0 && peer(op.awaited).direct && op.tag != kAnyTag && op.source != kAnySource &&
         config_.mode == PushMode::pull && op.data.contiguous() &&
         op.data.total() / kShareUnit < kMostUnits && near(op.awaited).advertised == nullptr &&
         !context.posted.has(op.source, op.tag);
}

// All that its message may need is there before it is offered: once the sender writes to it, it cannot fail.
void Core::advertise(RecvOp& op) noexcept {
  DirectRead* direct = directs_.get();
  if (direct != nullptr) op.id = recvs_.add(op);
  const std::uint32_t index = op.id == 0 ? kAllSplitCopies : split_copies_.take_for_ad(op.awaited);
  if (index == kAllSplitCopies) {
    release_id(op);
    if (direct != nullptr) directs_.put(direct);
    return;
  }
  direct->index = index;
  direct->split_copy = &split_copies_.at(index);
  direct->split_copy->make_ad({.context = op.context,
                               .address = reinterpret_cast<std::uintptr_t>(op.data.contiguous_at()),
                               .room = op.data.total(),
                               .from = op.awaited,
                               .tag = op.tag,
                               .seen = peer(op.awaited).heard,
                               .at_once = op.at_once && !oversubscribed_});
  op.direct = direct;
  near(op.awaited).advertised = &op;
  ++ads_;
}

// False: it is taken. One that its sender passed over cannot be taken any more.
bool Core::withdraw(RecvOp& op) noexcept {
  if (!op.direct->split_copy->withdraw()) return false;
  drop_direct(op);
  release_id(op);
  return true;
}

void Core::release_id(RecvOp& op) noexcept {
  if (op.id != 0) recvs_.remove(op.id);
  op.id = 0;
}

void Core::forget_ad(const RecvOp& op) noexcept {
  if (near(op.awaited).advertised != &op) return;
  near(op.awaited).advertised = nullptr;
  --ads_;
}

// A message has matched the receive.
void Core::end_ad(RecvOp& op, const Envelope& envelope) noexcept {
  forget_ad(op);
  if (withdraw(op)) return;
  HERALD_ASSERT(envelope.from == op.awaited && envelope.runs != 0 && envelope.bytes != 0 &&
                envelope.bytes <= op.data.total() && "an advertise in shared memory is damaged");
}

// A short message has: the sender cannot have taken the offer for another one.
void Core::end_ad(RecvOp& op) noexcept {
  const bool good = withdraw(op);
  HERALD_ASSERT(good && "an advertise in shared memory is damaged");
}

// A message came that was not meant: the offer is for the next one.
void Core::renew_ad(PeerId from) noexcept {
  if (nears_.empty() || near(from).advertised == nullptr) return;
  near(from).advertised->direct->split_copy->seen.store(peer(from).heard, std::memory_order_release);
}

// By the sender, whose push has just been written: the receiver may be here first.
void Core::await_ad(SendOp& op) noexcept {
  turns_awaiting_ads_ = 0;
  if (!take_ad(op)) awaiting_ads_.push_back(op);
}

bool Core::take_ad(SendOp& op) noexcept {
  SplitCopy* theirs = near(op.to).theirs;
  if (theirs == nullptr || config_.me < 0) return false;
  SplitCopy& split_copy = theirs[kSplitCopies + static_cast<std::uint32_t>(config_.me) % kAds];
  const std::uint64_t where = split_copy.take_ad(
      {.context = op.context, .from = config_.me, .tag = op.tag, .seen = op.seq}, op.data.total());
  if (where == 0) return false;
  op.split_copy = &split_copy;
  op.there = where;
  op.end = op.data.total();
  op.unlink();
  writes_.push_back(op);
  return true;
}

// The push of the message that took the offer: its sender is moving it. Should we not be able to read its
// memory, it goes on alone, and what it cannot write is pulled.
void Core::begin_advertised(RecvOp& op, const Envelope& envelope, const std::byte* runs) noexcept {
  DirectRead& direct = *op.direct;
  const bool good = read_runs(direct, envelope, runs, envelope.bytes) && peer(envelope.from).direct;
  direct.share = {};
  reads_.push_back(op);
  if (!good) {
    direct.share = direct.split_copy->claim(direct.bytes, true);
    direct.broken = true;
    direct.split_copy->take_rest(direct.bytes);
  }
  if (!good || direct.split_copy->is_all_written(direct.bytes)) (void)end_direct(op);
}

}  // namespace herald::p2p
