// SPDX-License-Identifier: BSD-3-Clause
// rel/lane_queue.hpp: first in, first out, without allocation for each item.
#pragma once
#include <cstdint>
#include <vector>

namespace herald::rel {

// Intrusive: an item holds its own link, and is in the queue at most once.
template <class T, T* T::*Next>
class LaneQueue {
 public:
  bool empty() const noexcept { return head_ == nullptr; }
  void push(T& item) noexcept {
    if (item.*Next != nullptr) return;
    item.*Next = &item;  // the last item links to itself
    if (head_ == nullptr) {
      head_ = &item;
    } else {
      tail_->*Next = &item;
    }
    tail_ = &item;
  }
  T* pop() noexcept {
    T* const first = head_;
    if (first == nullptr) return nullptr;
    head_ = first->*Next == first ? nullptr : first->*Next;
    first->*Next = nullptr;
    return first;
  }
  void remove(T& item) noexcept {  // linear
    if (item.*Next == nullptr) return;
    LaneQueue rest;
    while (T* one = pop())
      if (one != &item) rest.push(*one);
    *this = rest;
  }

 private:
  T* head_ = nullptr;
  T* tail_ = nullptr;
};

// Of small values: a ring that grows by doubling and keeps its capacity.
template <class T>
class LaneFifo {
 public:
  bool empty() const noexcept { return count_ == 0; }
  std::size_t size() const noexcept { return count_; }
  const T& front() const noexcept { return ring_[first_]; }
  void push(const T& value) noexcept {
    if (count_ == ring_.size()) grow();
    ring_[(first_ + count_++) & (ring_.size() - 1)] = value;
  }
  void pop() noexcept {
    first_ = (first_ + 1) & (ring_.size() - 1);
    --count_;
  }
  void clear() noexcept { first_ = count_ = 0; }

 private:
  void grow() noexcept {
    std::vector<T> ring(ring_.empty() ? 16 : ring_.size() * 2);
    for (std::size_t i = 0; i < count_; ++i) ring[i] = ring_[(first_ + i) & (ring_.size() - 1)];
    ring_ = std::move(ring);
    first_ = 0;
  }
  std::vector<T> ring_;
  std::size_t first_ = 0, count_ = 0;
};

}  // namespace herald::rel
