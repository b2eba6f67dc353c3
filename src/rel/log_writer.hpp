// SPDX-License-Identifier: BSD-3-Clause
// rel/log_writer.hpp: where the next packet of a connection is written in the send log: a slot of its own, or
// the rest of a datagram that has not left yet. One reservation at a time.
#pragma once
#include <cstddef>
#include <span>
#include <utility>

#include "rel/mesh_context.hpp"

namespace herald::rel {

class LogWriter {
 public:
  explicit LogWriter(MeshContext& mesh) noexcept : mesh_(mesh) {}

  std::span<std::byte> reserve(Connection& ch, std::size_t least) noexcept;
  void commit(Connection& ch, std::size_t bytes, std::span<const std::byte> borrowed) noexcept;
  bool may_borrow() const noexcept { return !shares_; }
  // Ends a reservation that was not committed.
  void release() noexcept {
    if (spare_ != PacketPool::kNone) mesh_.log_pool.give(std::exchange(spare_, PacketPool::kNone));
    open_ = nullptr;
  }
  std::size_t reserved_bytes() const noexcept {
    return spare_ == PacketPool::kNone ? 0 : mesh_.log_pool.slot_bytes();
  }

 private:
  std::span<std::byte> share(const Connection& ch, std::size_t least) noexcept;
  std::span<std::byte> take_slot(Connection& ch, std::size_t least) noexcept;
  void append_record(Entry& tail, std::size_t bytes) noexcept;

  MeshContext& mesh_;
  PacketPool::Slot spare_ = PacketPool::kNone;
  const Connection* open_ = nullptr;  // the reservation is for it ...
  std::size_t open_bytes_ = 0;        // ... so long ...
  bool shares_ = false;               // ... and in the datagram of the packet before
};

}  // namespace herald::rel
