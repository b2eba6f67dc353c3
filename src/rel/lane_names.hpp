// SPDX-License-Identifier: BSD-3-Clause
// rel/lane_names.hpp: the lanes by their names: open addressing, one or two probes for a datagram.
#pragma once
#include <cstdint>
#include <vector>

namespace herald::rel {

class Lane;

class LaneNames {
 public:
  Lane* find(std::uint64_t name) const noexcept {
    if (slots_.empty()) return nullptr;
    for (std::size_t i = home(name);; i = next(i)) {
      if (slots_[i].lane == nullptr) return nullptr;
      if (slots_[i].name == name) return slots_[i].lane;
    }
  }
  void insert(std::uint64_t name, Lane* lane) noexcept {
    if (2 * (count_ + 1) > slots_.size()) grow();
    std::size_t i = home(name);
    while (slots_[i].lane != nullptr) i = next(i);
    slots_[i] = {name, lane};
    ++count_;
  }
  void erase(std::uint64_t name) noexcept {
    std::size_t gap = home(name);
    while (slots_[gap].name != name || slots_[gap].lane == nullptr) gap = next(gap);
    // Entries behind the gap move up, unless they would come before their home slot.
    for (std::size_t i = next(gap); slots_[i].lane != nullptr; i = next(i)) {
      const std::size_t mask = slots_.size() - 1;
      if (((i - home(slots_[i].name)) & mask) < ((i - gap) & mask)) continue;
      slots_[gap] = slots_[i];
      gap = i;
    }
    slots_[gap] = {};
    --count_;
  }

 private:
  struct Slot {
    std::uint64_t name = 0;
    Lane* lane = nullptr;
  };
  std::size_t home(std::uint64_t name) const noexcept {
    return static_cast<std::size_t>(name * 0x9e3779b97f4a7c15u >> 32) & (slots_.size() - 1);
  }
  std::size_t next(std::size_t i) const noexcept { return (i + 1) & (slots_.size() - 1); }
  void grow() noexcept {
    std::vector<Slot> old(slots_.empty() ? 16 : slots_.size() * 2);
    old.swap(slots_);
    count_ = 0;
    for (const Slot& slot : old)
      if (slot.lane != nullptr) insert(slot.name, slot.lane);
  }

  std::vector<Slot> slots_;
  std::size_t count_ = 0;
};

}  // namespace herald::rel
