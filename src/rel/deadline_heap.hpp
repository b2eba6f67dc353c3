// SPDX-License-Identifier: BSD-3-Clause
// rel/deadline_heap.hpp: a binary heap of deadlines, one for each object that has any.
#pragma once
#include <cstdint>
#include <vector>

#include "base/instant.hpp"

namespace herald::rel {

constexpr Instant kNever{INT64_MAX};
constexpr int kMostTimersPerCall = 4096;

// T has `std::uint32_t heap_place` (kOut: not in the heap).
template <class T>
class DeadlineHeap {
 public:
  static constexpr std::uint32_t kOut = ~std::uint32_t{0};
  struct Item {
    Instant at;
    T* who;
  };

  bool empty() const noexcept { return items_.empty(); }
  const Item& top() const noexcept { return items_.front(); }

  void set(T& who, Instant at) noexcept {
    if (who.heap_place == kOut) {
      who.heap_place = static_cast<std::uint32_t>(items_.size());
      items_.push_back({at, &who});
      up(who.heap_place);
      return;
    }
    Item& item = items_[who.heap_place];
    const bool earlier = at < item.at;
    if (item.at == at) return;
    item.at = at;
    if (earlier) {
      up(who.heap_place);
    } else {
      down(who.heap_place);
    }
  }
  void remove(T& who) noexcept {
    const std::uint32_t place = who.heap_place;
    if (place == kOut) return;
    who.heap_place = kOut;
    const Item last = items_.back();
    items_.pop_back();
    if (place == items_.size()) return;
    put(place, last);
    up(place);
    down(last.who->heap_place);
  }

 private:
  void put(std::uint32_t place, const Item& item) noexcept {
    items_[place] = item;
    item.who->heap_place = place;
  }
  void up(std::uint32_t place) noexcept {
    const Item item = items_[place];
    for (; place > 0 && item.at < items_[(place - 1) / 2].at; place = (place - 1) / 2)
      put(place, items_[(place - 1) / 2]);
    put(place, item);
  }
  void down(std::uint32_t place) noexcept {
    const Item item = items_[place];
    for (;;) {
      std::uint32_t child = 2 * place + 1;
      if (child >= items_.size()) break;
      if (child + 1 < items_.size() && items_[child + 1].at < items_[child].at) ++child;
      if (!(items_[child].at < item.at)) break;
      put(place, items_[child]);
      place = child;
    }
    put(place, item);
  }

  std::vector<Item> items_;
};

}  // namespace herald::rel
