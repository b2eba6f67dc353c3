// SPDX-License-Identifier: BSD-3-Clause
#include "rel/send_log.hpp"

#include <new>

#include "base/fatal.hpp"

namespace herald::rel {

bool SendLog::grow() noexcept {
  const std::uint32_t wanted = capacity_ == 0 ? kFirst : capacity_ * 2;
  if (wanted > kMost) return false;
  std::unique_ptr<Entry[]> ring(new (std::nothrow) Entry[wanted]);
  if (ring == nullptr) return false;
  for (Seq seq = first_; seq != end_; ++seq) ring[seq & (wanted - 1)] = (*this)[seq];
  ring_ = std::move(ring);
  capacity_ = wanted;
  return true;
}

Entry& SendLog::append() noexcept {
  HERALD_ASSERT(size() < capacity_);
  Entry& entry = (*this)[end_++];
  // Field by field: a copy of an empty entry would have to pass through memory first.
  entry.sent_at = {};
  entry.borrowed = nullptr;
  entry.slot = PacketPool::kNone;
  entry.body_crc = entry.order = 0;
  entry.body_bytes = entry.borrowed_bytes = 0;
  entry.readers = cursors_;
  entry.link = entry.transmissions = entry.flags = 0;
  entry.state = EntryState::queued;
  entry.overtaken = false;
  return entry;
}

std::uint32_t SendLog::pass(Seq seq, PacketPool& pool) noexcept {
  Entry& passed = (*this)[seq];
  HERALD_ASSERT(passed.readers > 0);
  --passed.readers;
  std::uint32_t borrowed = 0;
  for (; first_ != end_ && (*this)[first_].readers == 0; ++first_) {
    const Entry& entry = (*this)[first_];
    if (entry.borrowed != nullptr) ++borrowed;
    pool.give(entry.slot);
  }
  return borrowed;
}

void SendLog::clear(PacketPool& pool) noexcept {
  while (first_ != end_) pool.give((*this)[first_++].slot);
}

void SendLog::shrink() noexcept {
  if (!empty()) return;
  ring_.reset();
  capacity_ = 0;
}

}  // namespace herald::rel
