// SPDX-License-Identifier: BSD-3-Clause
// base/list.hpp: an intrusive doubly linked list. Nothing is allocated.
// An item is in at most one list at a time (`linked()`).
#pragma once

namespace herald {

struct ListLink {
  ListLink* next = nullptr;
  ListLink* prev = nullptr;

  ListLink() noexcept = default;
  ListLink(const ListLink&) = delete;
  ListLink& operator=(const ListLink&) = delete;

  bool linked() const noexcept { return next != nullptr; }
  void unlink() noexcept {
    if (next == nullptr) return;
    next->prev = prev;
    prev->next = next;
    next = prev = nullptr;
  }
};

// T derives from ListLink.
template <class T>
class List {
 public:
  List() noexcept { head_.next = head_.prev = &head_; }
  List(const List&) = delete;
  List& operator=(const List&) = delete;

  bool empty() const noexcept { return head_.next == &head_; }
  // Whether the list has at least so many items.
  bool has(int count) const noexcept {
    const ListLink* item = head_.next;
    for (; count != 0 && item != &head_; --count) item = item->next;
    return count == 0;
  }
  T* front() noexcept { return empty() ? nullptr : static_cast<T*>(head_.next); }
  T* next(T& item) noexcept { return item.next == &head_ ? nullptr : static_cast<T*>(item.next); }

  void push_back(T& item) noexcept { link_before(head_, item); }
  void insert_before(T& where, T& item) noexcept { link_before(where, item); }
  void push_front(T& item) noexcept { link_before(*head_.next, item); }
  T* pop_front() noexcept {
    T* item = front();
    if (item != nullptr) item->unlink();
    return item;
  }

 private:
  static void link_before(ListLink& where, ListLink& item) noexcept {
    item.next = &where;
    item.prev = where.prev;
    where.prev->next = &item;
    where.prev = &item;
  }
  ListLink head_;
};

}  // namespace herald
