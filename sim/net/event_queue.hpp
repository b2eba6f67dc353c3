// SPDX-License-Identifier: BSD-3-Clause
// sim/net/event_queue.hpp: pending events, earliest first; events at the same instant happen in the order of
// insertion, so that a run can be repeated. A four-ary heap.
#pragma once
#include <cstdint>
#include <utility>
#include <vector>

#include "base/instant.hpp"

namespace herald::sim {

struct Event {
  Instant at;
  std::uint64_t order = 0;
  std::uint32_t kind = 0;
  std::uint32_t what = 0;  // index of a flight, host or action, by kind
};

class EventQueue {
 public:
  bool empty() const noexcept { return heap_.empty(); }
  std::size_t size() const noexcept { return heap_.size(); }
  const Event& front() const noexcept { return heap_.front(); }

  void push(Instant at, std::uint32_t kind, std::uint32_t what) {
    heap_.push_back({at, order_++, kind, what});
    std::size_t child = heap_.size() - 1;
    while (child != 0) {
      const std::size_t parent = (child - 1) / 4;
      if (!before(heap_[child], heap_[parent])) break;
      std::swap(heap_[child], heap_[parent]);
      child = parent;
    }
  }

  Event pop() {
    const Event first = heap_.front();
    const Event last = heap_.back();
    heap_.pop_back();
    if (heap_.empty()) return first;
    std::size_t hole = 0;
    for (;;) {
      const std::size_t begin = hole * 4 + 1;
      if (begin >= heap_.size()) break;
      const std::size_t end = begin + 4 < heap_.size() ? begin + 4 : heap_.size();
      std::size_t least = begin;
      for (std::size_t i = begin + 1; i < end; ++i)
        if (before(heap_[i], heap_[least])) least = i;
      if (!before(heap_[least], last)) break;
      heap_[hole] = heap_[least];
      hole = least;
    }
    heap_[hole] = last;
    return first;
  }

 private:
  static bool before(const Event& a, const Event& b) noexcept {
    return a.at.ns != b.at.ns ? a.at.ns < b.at.ns : a.order < b.order;
  }
  std::vector<Event> heap_;
  std::uint64_t order_ = 0;
};

}  // namespace herald::sim
