// SPDX-License-Identifier: BSD-3-Clause
#include "p2p/posted_recv_ads.hpp"

namespace herald::p2p {

bool PostedRecvAds::is_suitable(const RecvOp& op, Context& context) noexcept {
  return may_be_advertised(op) && op.tag != kAnyTag && op.source != kAnySource &&
         config_.mode == PushMode::pull && op.data.contiguous() && op.data.total() / kShareUnit < kMaxUnits &&
         of(op.awaited) == nullptr && !context.posted.has(op.source, op.tag);
}

// All that its message may need exists before: once the sender writes to it, the receive cannot fail.
bool PostedRecvAds::advertise(RecvOp& op) noexcept {
  DirectRead* const direct = direct_.make_ad_record(op.awaited);
  if (direct == nullptr) return false;
  direct->split_copy->make_ad({.context = op.context,
                               .address = reinterpret_cast<std::uintptr_t>(op.data.contiguous_at()),
                               .room = op.data.total(),
                               .from = op.awaited,
                               .tag = op.tag,
                               .seen = headers_.received(peers_[op.awaited]),
                               .at_once = op.at_once && !direct_.oversubscribed()});
  op.direct = direct;
  if (advertised_.size() < peers_.size()) advertised_.resize(peers_.size());
  advertised_[static_cast<std::size_t>(op.awaited)] = &op;
  ++count_;
  return true;
}

bool PostedRecvAds::withdraw(RecvOp& op) noexcept {
  if (!op.direct->split_copy->withdraw()) return false;
  forget(op);
  direct_.drop_record(op);
  return true;
}

void PostedRecvAds::forget(const RecvOp& op) noexcept {
  if (of(op.awaited) != &op) return;
  advertised_[static_cast<std::size_t>(op.awaited)] = nullptr;
  --count_;
}

void PostedRecvAds::renew_slow(PeerId from) noexcept {
  of(from)->direct->split_copy->seen.store(headers_.received(peers_[from]), std::memory_order_release);
}

}  // namespace herald::p2p
