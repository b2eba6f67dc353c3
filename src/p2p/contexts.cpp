// SPDX-License-Identifier: BSD-3-Clause
#include "p2p/contexts.hpp"

#include <new>

namespace herald::p2p {

Contexts::Contexts() noexcept : buckets_(64, nullptr) {}

Contexts::~Contexts() {
  for (Context* context : buckets_)
    while (context != nullptr) {
      Context* after = context->chain;
      delete context;
      context = after;
    }
}

Context* Contexts::find_slow(std::uint64_t id) noexcept {
  Context* context = bucket(id);
  while (context != nullptr && context->id != id) context = context->chain;
  if (context != nullptr) recent_ = context;
  return context;
}

Context* Contexts::make(std::uint64_t id) noexcept {
  auto* context = new (std::nothrow) Context(id);
  if (context == nullptr) return nullptr;
  if (size_ >= buckets_.size() * 2) widen();
  context->chain = bucket(id);
  bucket(id) = context;
  ++size_;
  return recent_ = context;
}

void Contexts::widen() noexcept {
  std::vector<Context*> old(buckets_.size() * 4, nullptr);
  old.swap(buckets_);
  for (Context* context : old)
    while (context != nullptr) {
      Context* after = context->chain;
      context->chain = bucket(context->id);
      bucket(context->id) = context;
      context = after;
    }
}

void Contexts::forget(Context& context) noexcept {
  if (context.forgotten) return;
  context.forgotten = true;
  forgotten_.push_back(context);
  if (++forgotten_count_ <= kForgotten) return;
  Context* oldest = forgotten_.pop_front();
  if (!oldest->posted.empty()) {
    forgotten_.push_back(*oldest);
    return;
  }
  --forgotten_count_;
  drop(*oldest);
}

void Contexts::remember_slow(Context& context) noexcept {
  context.forgotten = false;
  context.unlink();
  --forgotten_count_;
}

void Contexts::drop(Context& context) noexcept {
  Context** at = &bucket(context.id);
  while (*at != &context) at = &(*at)->chain;
  *at = context.chain;
  if (recent_ == &context) recent_ = nullptr;
  --size_;
  delete &context;
}

}  // namespace herald::p2p
