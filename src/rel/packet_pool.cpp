// SPDX-License-Identifier: BSD-3-Clause
#include "rel/packet_pool.hpp"

#include <algorithm>
#include <bit>
#include <new>

#include "base/fatal.hpp"

namespace herald::rel {

PacketPool::PacketPool(std::size_t slot_bytes, std::uint64_t most_bytes) noexcept
    : slot_bytes_((slot_bytes + 63) / 64 * 64),
      slab_slots_(
          static_cast<std::uint32_t>(std::clamp<std::size_t>(kSlabBytes / slot_bytes_, 1, kSlabSlots))),
      whole_(slab_slots_ == 32 ? ~0u : (1u << slab_slots_) - 1),
      most_(std::clamp<std::uint64_t>(most_bytes / slot_bytes_, 1, kMostSlots)) {}

bool PacketPool::add_slab() noexcept {
  const auto gone =
      std::find_if(slabs_.begin(), slabs_.end(), [](const Slab& s) { return s.bytes == nullptr; });
  const auto index = static_cast<std::size_t>(gone - slabs_.begin());
  std::unique_ptr<std::byte[]> bytes(new (std::nothrow) std::byte[slab_slots_ * slot_bytes_]);
  if (bytes == nullptr) return false;
  if (gone == slabs_.end()) slabs_.emplace_back();
  slabs_[index] = {std::move(bytes), whole_, false};
  first_ = index;
  ++held_slabs_;
  return true;
}

PacketPool::Slot PacketPool::take(bool beyond) noexcept {
  if (full() && !beyond) return kNone;
  while (first_ < slabs_.size() && slabs_[first_].free == 0) ++first_;
  if (first_ == slabs_.size() && !add_slab()) return kNone;
  Slab& slab = slabs_[first_];
  const auto bit = static_cast<std::uint32_t>(std::countr_zero(slab.free));
  slab.free &= slab.free - 1;
  slab.rested = false;
  ++used_;
  return static_cast<Slot>(first_) * kSlabSlots + bit;
}

void PacketPool::give(Slot slot) noexcept {
  const std::size_t index = slot / kSlabSlots;
  const std::uint32_t bit = 1u << slot % kSlabSlots;
  HERALD_ASSERT(index < slabs_.size() && (slabs_[index].free & bit) == 0 && used_ > 0);
  slabs_[index].free |= bit;
  first_ = std::min(first_, index);
  --used_;
}

void PacketPool::sweep() noexcept {
  for (Slab& slab : slabs_) {
    if (slab.bytes == nullptr || slab.free != whole_) continue;
    if (slab.rested) {
      slab = {};
      --held_slabs_;
    } else {
      slab.rested = true;
    }
  }
  while (!slabs_.empty() && slabs_.back().bytes == nullptr) slabs_.pop_back();
  first_ = std::min(first_, slabs_.size());
}

}  // namespace herald::rel
