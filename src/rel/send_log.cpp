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
  entry = {};
  entry.readers = cursors_;
  return entry;
}

void SendLog::pass(Seq seq, PacketPool& pool) noexcept {
  Entry& passed = (*this)[seq];
  HERALD_ASSERT(passed.readers > 0);
  --passed.readers;
  while (first_ != end_ && (*this)[first_].readers == 0) pool.give((*this)[first_++].slot);
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
