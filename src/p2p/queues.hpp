// SPDX-License-Identifier: BSD-3-Clause
// p2p/queues.hpp: the two matching queues of one context, in MPI order: of several receives that match a
// message the one posted first gets it; of several messages that match a receive the oldest is taken.
// Short queues are one list and are walked. A queue longer than kShortQueue is spread over bins by
// (source, tag); receives with wildcards keep a list of their own, and order numbers decide between the two.
#pragma once
#include <cstdint>
#include <memory>

#include "p2p/message.hpp"

namespace herald::p2p {

constexpr std::uint32_t kShortQueue = 16;

// Bins of a long queue. T is what is linked: RecvOp or BinLink.
template <class T>
class Bins {
 public:
  std::uint32_t count() const noexcept { return count_; }
  List<T>& of(std::int32_t source, std::int32_t tag) noexcept {
    const auto key = static_cast<std::uint64_t>(static_cast<std::uint32_t>(source)) << 32 |
                     static_cast<std::uint32_t>(tag);
    return lists_[(key * 0x9e3779b97f4a7c15u >> 40) & (count_ - 1)];
  }
  List<T>& at(std::uint32_t index) noexcept { return lists_[index]; }
  bool make(std::uint32_t count) noexcept {
    lists_.reset(new (std::nothrow) List<T>[count]);
    count_ = lists_ ? count : 0;
    return count_ != 0;
  }
  void swap(Bins& other) noexcept {
    std::swap(lists_, other.lists_);
    std::swap(count_, other.count_);
  }

 private:
  std::unique_ptr<List<T>[]> lists_;
  std::uint32_t count_ = 0;  // a power of two
};

class PostedQueue {
 public:
  bool empty() const noexcept { return size_ == 0; }
  void add(RecvOp& op) noexcept {
    op.order = order_++;
    if (spread_ || size_ >= kShortQueue) return add_slow(op);
    ++size_;
    list_.push_back(op);
  }
  void remove(RecvOp& op) noexcept {
    op.unlink();
    if (--size_ == 0) spread_ = false;
  }
  // The receive that a message with this source and tag matches, removed; null: none.
  RecvOp* take(std::int32_t source, std::int32_t tag) noexcept {
    RecvOp* op = find(source, tag);
    if (op != nullptr) remove(*op);
    return op;
  }
  bool has(std::int32_t source, std::int32_t tag) noexcept { return find(source, tag) != nullptr; }
  // A receive that waits for this peer and no other, removed; null: none.
  RecvOp* take_awaiting(PeerId peer) noexcept;
  bool awaits(PeerId peer) noexcept { return find_awaiting(peer) != nullptr; }

 private:
  RecvOp* find_awaiting(PeerId peer) noexcept;
  RecvOp* find(std::int32_t source, std::int32_t tag) noexcept {
    if (size_ == 0) return nullptr;
    RecvOp* const first = list_.front();
    const bool fits = !spread_ && first->source == source && first->tag == tag;  // as most often
    return fits ? first : find_slow(source, tag);
  }
  RecvOp* find_slow(std::int32_t source, std::int32_t tag) noexcept;
  void add_slow(RecvOp& op) noexcept;
  void spread(std::uint32_t bins) noexcept;
  List<RecvOp> list_;  // all receives in order, or those with wildcards when spread
  Bins<RecvOp> bins_;
  bool spread_ = false;
  std::uint32_t size_ = 0;
  std::uint64_t order_ = 0;
};

class UnexpectedQueue {
 public:
  bool empty() const noexcept { return size_ == 0; }
  void add(Message& message) noexcept;
  void remove(Message& message) noexcept;
  // The oldest message that matches; it stays in the queue.
  Message* find(std::int32_t source, std::int32_t tag) noexcept {
    return size_ == 0 ? nullptr : find_slow(source, tag);
  }
  Message* find_seq(PeerId from, std::uint32_t seq) noexcept;
  Message* front() noexcept { return list_.front(); }
  Message* next(Message& message) noexcept { return list_.next(message); }

 private:
  Message* find_slow(std::int32_t source, std::int32_t tag) noexcept;
  void spread(std::uint32_t bins) noexcept;
  List<Message> list_;  // all, in order of arrival
  Bins<BinLink> bins_;
  bool spread_ = false;
  std::uint32_t size_ = 0;
};

}  // namespace herald::p2p
