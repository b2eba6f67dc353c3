// SPDX-License-Identifier: BSD-3-Clause
#include "rel/lane_early.hpp"

#include <algorithm>
#include <cstring>

namespace herald::rel {

bool EarlyCasts::has_room(std::size_t bytes) const noexcept {
  const std::size_t slot_bytes = context_.reorder_pool.slot_bytes();
  return kept_.size() < kMaxKept && (kept_.size() + 1) * slot_bytes <= context_.config.kept_bytes / 4 &&
         bytes <= slot_bytes;
}

void EarlyCasts::keep(Instant now, bool by_group, const wire::DatagramView& view,
                      std::uint64_t name) noexcept {
  PacketPool& pool = context_.reorder_pool;
  const PacketPool::Slot slot = has_room(view.body.size()) ? pool.take() : PacketPool::kNone;
  if (slot == PacketPool::kNone) return;
  std::memcpy(pool.at(slot), view.body.data(), view.body.size());
  Cast& cast = kept_.emplace_back(Cast{name, now, slot, by_group, view});
  cast.view.body = {pool.at(slot), view.body.size()};
  cast.view.flags |= wire::kFlagAskAck;  // the source does not know yet that we are here
}

void EarlyCasts::on_opened(std::uint64_t name) noexcept {
  replay_due_ = replay_due_ ||
                std::any_of(kept_.begin(), kept_.end(), [&](const Cast& cast) { return cast.name == name; });
}

bool EarlyCasts::take(std::uint64_t name, Cast& out) noexcept {
  const auto found =
      std::find_if(kept_.begin(), kept_.end(), [&](const Cast& cast) { return cast.name == name; });
  if (found == kept_.end()) return false;
  out = *found;
  kept_.erase(found);
  return true;
}

template <class F>
void EarlyCasts::erase_if(F&& condition) noexcept {
  std::erase_if(kept_, [&](const Cast& cast) {
    if (!condition(cast)) return false;
    context_.reorder_pool.give(cast.slot);
    return true;
  });
}

void EarlyCasts::expire(Instant now) noexcept {
  erase_if([&](const Cast& cast) { return cast.at < Instant{now.ns - kKeepFor.ns}; });
}

void EarlyCasts::drop(std::uint64_t name) noexcept {
  erase_if([&](const Cast& cast) { return cast.name == name; });
}

void ClosedLanes::on_opened(std::uint64_t name) noexcept {
  for (Name& one : names_)
    if (one.name == name) one.used = false;
}

bool ClosedLanes::contains(std::uint64_t name) const noexcept {
  return std::any_of(names_.begin(), names_.end(),
                     [&](const Name& one) { return one.used && one.name == name; });
}

const LaneInfo* ClosedLanes::find_far(std::uint64_t name) const noexcept {
  for (const Name& one : names_)
    if (one.used && one.name == name && one.far != nullptr) return one.far.get();
  return nullptr;
}

// Without a lane there is no number: both sides take the first.
void ClosedLanes::fill(LaneContext& context, TxBatch& out) noexcept {
  while (!replies_.empty() && !out.full()) {
    const Reply reply = replies_.front();
    replies_.pop();
    wire::CastAck ack;
    ack.name = reply.name;
    ack.source = static_cast<std::uint32_t>(reply.to);
    context.emit(to_peer(reply.to), wire::DatagramKind::cast_ack,
                 reply.closed ? wire::kFlagClosed : wire::kFlagNotOpen, kFirstCast, ack, out);
  }
}

}  // namespace herald::rel
