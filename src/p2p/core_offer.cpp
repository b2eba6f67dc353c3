// SPDX-License-Identifier: BSD-3-Clause
// p2p/core_offer.cpp: receives of long messages that come first (paper 002: the late side moves the bytes).
// The receive is offered to its sender in a meeting. A sender whose message is the one that is waited for,
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

bool Core::is_to_be_offered(const RecvOp& op, Context& context) noexcept {
  return op.awaited >= 0 && peer(op.awaited).direct && op.tag != kAnyTag && op.source != kAnySource &&
         config_.mode == PushMode::pull && op.data.contiguous() &&
         op.data.total() / kShareUnit < kMostUnits && near(op.awaited).offered == nullptr &&
         !context.posted.has(op.source, op.tag);
}

// All that its message may need is there before it is offered: once the sender writes to it, it cannot fail.
void Core::offer(RecvOp& op) noexcept {
  DirectRead* direct = directs_.get();
  if (direct != nullptr) op.id = recvs_.add(op);
  const std::uint32_t index = op.id == 0 ? kAllMeetings : meetings_.take_for_offer(op.awaited);
  if (index == kAllMeetings) {
    release_id(op);
    if (direct != nullptr) directs_.put(direct);
    return;
  }
  direct->index = index;
  direct->meeting = &meetings_.at(index);
  direct->meeting->make_offer({.context = op.context,
                               .address = reinterpret_cast<std::uintptr_t>(op.data.contiguous_at()),
                               .room = op.data.total(),
                               .from = op.awaited,
                               .tag = op.tag,
                               .seen = peer(op.awaited).heard,
                               .at_once = op.at_once && !crowded_});
  op.direct = direct;
  near(op.awaited).offered = &op;
  ++offers_;
}

// False: it is taken. One that its sender passed over cannot be taken any more.
bool Core::withdraw(RecvOp& op) noexcept {
  if (!op.direct->meeting->withdraw()) return false;
  drop_direct(op);
  release_id(op);
  return true;
}

void Core::release_id(RecvOp& op) noexcept {
  if (op.id != 0) recvs_.remove(op.id);
  op.id = 0;
}

void Core::forget_offer(const RecvOp& op) noexcept {
  if (near(op.awaited).offered != &op) return;
  near(op.awaited).offered = nullptr;
  --offers_;
}

// A message has matched the receive.
void Core::end_offer(RecvOp& op, const Envelope& envelope) noexcept {
  forget_offer(op);
  if (withdraw(op)) return;
  HERALD_ASSERT(envelope.from == op.awaited && envelope.runs != 0 && envelope.bytes != 0 &&
                envelope.bytes <= op.data.total() && "an offer in shared memory is damaged");
}

// A short message has: the sender cannot have taken the offer for another one.
void Core::end_offer(RecvOp& op) noexcept {
  const bool good = withdraw(op);
  HERALD_ASSERT(good && "an offer in shared memory is damaged");
}

// A message came that was not meant: the offer is for the next one.
void Core::renew_offer(PeerId from) noexcept {
  if (nears_.empty() || near(from).offered == nullptr) return;
  near(from).offered->direct->meeting->seen.store(peer(from).heard, std::memory_order_release);
}

// By the sender, whose push has just been written: the receiver may be here first.
void Core::hope(SendOp& op) noexcept {
  turns_of_hope_ = 0;
  if (!take_offer(op)) hopes_.push_back(op);
}

bool Core::take_offer(SendOp& op) noexcept {
  Meeting* theirs = near(op.to).theirs;
  if (theirs == nullptr || config_.me < 0) return false;
  Meeting& meeting = theirs[kMeetings + static_cast<std::uint32_t>(config_.me) % kOffers];
  const std::uint64_t where = meeting.take_offer(
      {.context = op.context, .from = config_.me, .tag = op.tag, .seen = op.seq}, op.data.total());
  if (where == 0) return false;
  op.meeting = &meeting;
  op.there = where;
  op.end = op.data.total();
  op.unlink();
  writes_.push_back(op);
  return true;
}

// The push of the message that took the offer: its sender is moving it. Should we not be able to read its
// memory, it goes on alone, and what it cannot write is pulled.
void Core::begin_offered(RecvOp& op, const Envelope& envelope, const std::byte* runs) noexcept {
  DirectRead& direct = *op.direct;
  const bool good = read_runs(direct, envelope, runs, envelope.bytes) && peer(envelope.from).direct;
  direct.share = {};
  reads_.push_back(op);
  if (!good) {
    direct.share = direct.meeting->claim(direct.bytes, true);
    direct.broken = true;
    direct.meeting->take_rest(direct.bytes);
  }
  if (!good || direct.meeting->is_all_written(direct.bytes)) (void)end_direct(op);
}

}  // namespace herald::p2p
