// SPDX-License-Identifier: BSD-3-Clause
// p2p/id_table.hpp: ids that name operations to a peer.
// An id is a slot and the slot's generation, so an id from an old packet finds nothing. 0 is never an id.
#pragma once
#include <cstdint>
#include <vector>

namespace herald::p2p {

constexpr std::uint32_t kMostIds = 1u << 22;

template <class T>
class IdTable {
 public:
  explicit IdTable(std::uint32_t most = kMostIds) noexcept : most_(most < kSlots ? most : kSlots) {}

  // 0 when `most` operations are named already.
  std::uint32_t add(T& item) noexcept {
    if (free_ == kNone) {
      if (slots_.size() >= most_) return 0;
      slots_.push_back(Slot{});
      free_ = static_cast<std::uint32_t>(slots_.size() - 1);
    }
    const std::uint32_t at = free_;
    Slot& slot = slots_[at];
    free_ = slot.next_free;
    slot.item = &item;
    return slot.generation << kSlotBits | at;
  }

  T* find(std::uint32_t id) const noexcept {
    const std::uint32_t at = id & (kSlots - 1);
    if (at >= slots_.size() || slots_[at].generation != id >> kSlotBits) return nullptr;
    return slots_[at].item;
  }

  void remove(std::uint32_t id) noexcept {
    Slot& slot = slots_[id & (kSlots - 1)];
    slot.item = nullptr;
    slot.generation = slot.generation == kGenerations ? 1 : slot.generation + 1;
    slot.next_free = free_;
    free_ = id & (kSlots - 1);
  }

  // Calls visit(item) for each; visit may remove the item it is given.
  template <class Visit>
  void for_each(Visit visit) noexcept {
    for (std::size_t i = 0; i < slots_.size(); ++i)
      if (slots_[i].item != nullptr) visit(*slots_[i].item);
  }

 private:
  static constexpr std::uint32_t kSlotBits = 22;
  static constexpr std::uint32_t kSlots = 1u << kSlotBits;
  static_assert(kMostIds <= kSlots);
  static constexpr std::uint32_t kGenerations = (1u << (32 - kSlotBits)) - 1;
  static constexpr std::uint32_t kNone = ~0u;
  struct Slot {
    T* item = nullptr;
    std::uint32_t generation = 1;
    std::uint32_t next_free = kNone;
  };
  std::uint32_t most_;
  std::vector<Slot> slots_;
  std::uint32_t free_ = kNone;
};

}  // namespace herald::p2p
