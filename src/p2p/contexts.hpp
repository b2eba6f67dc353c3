// SPDX-License-Identifier: BSD-3-Clause
// p2p/contexts.hpp: finds the matching queues of a context by its 64-bit id. A context is created on first
// use, by a message or by a receive: a peer may have created a communicator earlier than we have.
// The last kForgotten forgotten contexts stay known without queues, so that late messages for them are
// recognised.
#pragma once
#include <cstdint>
#include <vector>

#include "base/list.hpp"
#include "p2p/queues.hpp"

namespace herald::p2p {

constexpr std::uint32_t kForgotten = 1024;

struct Context : ListLink {  // linked among the forgotten
  explicit Context(std::uint64_t context_id) noexcept : id(context_id) {}
  std::uint64_t id;
  Context* chain = nullptr;
  bool forgotten = false;
  PostedQueue posted;
  UnexpectedQueue unexpected;
};

class Contexts {
 public:
  Contexts() noexcept;
  ~Contexts();
  Contexts(const Contexts&) = delete;
  Contexts& operator=(const Contexts&) = delete;

  Context* find(std::uint64_t id) noexcept {
    if (recent_ != nullptr && recent_->id == id) return recent_;
    return find_slow(id);
  }
  Context* find_or_make(std::uint64_t id) noexcept {  // null: no memory
    Context* context = find(id);
    return context != nullptr ? context : make(id);
  }
  // Its unexpected queue is empty. Receives that are still posted go on being matched.
  void forget(Context& context) noexcept;
  void remember(Context& context) noexcept {
    if (context.forgotten) remember_slow(context);
  }

  template <class Visit>
  void for_each(Visit visit) noexcept {
    for (Context* context : buckets_)
      for (; context != nullptr; context = context->chain) visit(*context);
  }

 private:
  void remember_slow(Context& context) noexcept;
  Context* find_slow(std::uint64_t id) noexcept;
  Context* make(std::uint64_t id) noexcept;
  void drop(Context& context) noexcept;
  void widen() noexcept;
  Context*& bucket(std::uint64_t id) noexcept {
    return buckets_[(id * 0x9e3779b97f4a7c15u >> 32) & (buckets_.size() - 1)];
  }
  std::vector<Context*> buckets_;
  std::uint32_t size_ = 0;
  Context* recent_ = nullptr;
  List<Context> forgotten_;
  std::uint32_t forgotten_count_ = 0;
};

}  // namespace herald::p2p
