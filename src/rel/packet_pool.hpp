// SPDX-License-Identifier: BSD-3-Clause
// rel/packet_pool.hpp: memory for packets, in slots of one datagram each, allocated in slabs.
// Invariants: never more than `most_bytes` in use, except for slots taken beyond; low slabs are filled first,
// so that high ones become empty; a slab that was empty between two sweeps is freed.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/instant.hpp"

namespace herald::rel {

constexpr Duration kSweepEvery = milliseconds(1000);

class PacketPool {
 public:
  using Slot = std::uint32_t;
  static constexpr Slot kNone = ~Slot{0};

  PacketPool(std::size_t slot_bytes, std::uint64_t most_bytes) noexcept;

  Slot take(bool beyond = false) noexcept;  // kNone: full; beyond: ignores the limit
  void give(Slot slot) noexcept;
  std::byte* at(Slot slot) const noexcept {
    return slabs_[slot / kSlabSlots].bytes.get() + slot % kSlabSlots * slot_bytes_;
  }
  std::size_t slot_bytes() const noexcept { return slot_bytes_; }
  bool full() const noexcept { return used_ >= most_; }
  std::uint64_t used_bytes() const noexcept { return used_ * slot_bytes_; }
  std::uint64_t held_bytes() const noexcept { return held_slabs_ * slab_slots_ * slot_bytes_; }
  void sweep() noexcept;

 private:
  static constexpr std::uint32_t kSlabSlots = 32;      // bits of Slab::free
  static constexpr std::size_t kSlabBytes = 64 << 10;  // about; one slot at least
  static constexpr std::uint64_t kMostSlots = 1ull << 24;

  struct Slab {
    std::unique_ptr<std::byte[]> bytes;
    std::uint32_t free = 0;  // a bit for each slot; 0 if there are no bytes
    bool rested = false;     // empty since the last sweep
  };
  bool add_slab() noexcept;

  std::size_t slot_bytes_;
  std::uint32_t slab_slots_;
  std::uint32_t whole_;  // Slab::free of an empty slab
  std::uint64_t most_;
  std::uint64_t used_ = 0;
  std::uint64_t held_slabs_ = 0;
  std::size_t first_ = 0;  // no slab below this one has a free slot
  std::vector<Slab> slabs_;
};

}  // namespace herald::rel
