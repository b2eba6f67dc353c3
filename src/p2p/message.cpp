// SPDX-License-Identifier: BSD-3-Clause
#include "p2p/message.hpp"

#include <cstdlib>
#include <new>

namespace herald::p2p {

MessagePool::~MessagePool() {
  for (Shelf& shelf : shelves_)
    while (Message* message = shelf.free.pop_front()) std::free(message);
}

Message* MessagePool::get(std::uint32_t payload_bytes) noexcept {
  std::uint32_t size_class = 0;
  while (size_class < kSizes.size() && kSizes[size_class] < payload_bytes) ++size_class;
  std::uint32_t room = payload_bytes;  // larger than the largest shelf: made for this one
  if (size_class < kSizes.size()) {
    Shelf& shelf = shelves_[size_class];
    if (Message* message = shelf.free.pop_front()) {
      --shelf.count;
      ++held_;
      return message;
    }
    room = kSizes[size_class];
  }
  void* memory = std::malloc(sizeof(Message) + room);
  if (memory == nullptr) return nullptr;
  Message* message = new (memory) Message;
  message->bin.message = message;
  message->size_class = size_class;
  message->cost = static_cast<std::uint32_t>(sizeof(Message)) + room;
  ++held_;
  return message;
}

void MessagePool::put(Message* message) noexcept {
  --held_;
  if (message->size_class < kSizes.size()) {
    Shelf& shelf = shelves_[message->size_class];
    if (shelf.count < kKept) {
      ++shelf.count;
      shelf.free.push_front(*message);
      return;
    }
  }
  std::free(message);
}

}  // namespace herald::p2p
