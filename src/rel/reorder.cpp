// SPDX-License-Identifier: BSD-3-Clause
#include "rel/reorder.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>

#include "base/fatal.hpp"

namespace herald::rel {

bool Reorder::grow(std::uint32_t wanted) noexcept {
  const std::uint32_t capacity = std::bit_ceil(std::max(wanted, kFirst));
  std::unique_ptr<Held[]> ring(new (std::nothrow) Held[capacity]);
  if (ring == nullptr) return false;
  for (std::uint32_t i = 0; i < capacity_; ++i)
    if (ring_[i].slot != PacketPool::kNone) ring[ring_[i].seq & (capacity - 1)] = ring_[i];
  ring_ = std::move(ring);
  capacity_ = capacity;
  return true;
}

bool Reorder::keep(Seq seq, std::uint32_t ahead, std::uint8_t flags, std::span<const std::byte> body,
                   PacketPool& pool) noexcept {
  HERALD_ASSERT(ahead < kMost);
  if (body.size() > pool.slot_bytes()) return false;  // longer than any of our links carries
  if (ahead >= capacity_ && !grow(ahead + 1)) return false;
  const PacketPool::Slot slot = pool.take();
  if (slot == PacketPool::kNone) return false;
  std::memcpy(pool.at(slot), body.data(), body.size());
  put_back(seq, {slot, static_cast<std::uint16_t>(body.size()), flags});
  return true;
}

Reorder::Taken Reorder::take(Seq seq) noexcept {
  Held& held = ring_[seq & (capacity_ - 1)];
  const Taken taken{held.slot, held.bytes, held.flags};
  held.slot = PacketPool::kNone;
  --count_;
  return taken;
}

void Reorder::put_back(Seq seq, const Taken& taken) noexcept {
  Held& held = ring_[seq & (capacity_ - 1)];
  HERALD_ASSERT(held.slot == PacketPool::kNone);
  held = {taken.slot, seq, taken.bytes, taken.flags};
  ++count_;
}

void Reorder::clear(PacketPool& pool) noexcept {
  for (std::uint32_t i = 0; i < capacity_; ++i)
    if (ring_[i].slot != PacketPool::kNone) pool.give(ring_[i].slot);
  count_ = 0;
  ring_.reset();
  capacity_ = 0;
}

void Reorder::shrink() noexcept {
  if (count_ != 0) return;
  ring_.reset();
  capacity_ = 0;
}

}  // namespace herald::rel
