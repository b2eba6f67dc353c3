// SPDX-License-Identifier: BSD-3-Clause
// rel/reorder.hpp: packets that have come and cannot be delivered yet: an earlier one is missing, or the
// listener refused it. A ring by sequence number, allocated when the first one comes.
#pragma once
#include <cstdint>
#include <memory>
#include <span>

#include "rel/packet_pool.hpp"
#include "rel/seq.hpp"

namespace herald::rel {

class Reorder {
 public:
  static constexpr std::uint32_t kMost = 1024;  // how far ahead a packet may be

  bool has(Seq seq) const noexcept {
    if (count_ == 0) return false;
    const Held& held = ring_[seq & (capacity_ - 1)];
    return held.slot != PacketPool::kNone && held.seq == seq;
  }
  // Copies the body; false: no memory, as if the packet were lost. `ahead` < kMost: distance from the oldest.
  bool keep(Seq seq, std::uint32_t ahead, std::uint8_t flags, std::span<const std::byte> body,
            PacketPool& pool) noexcept;

  struct Taken {
    PacketPool::Slot slot = PacketPool::kNone;
    std::uint16_t bytes = 0;
    std::uint8_t flags = 0;
  };
  Taken take(Seq seq) noexcept;                         // requires has(seq); the caller owns the slot
  void put_back(Seq seq, const Taken& taken) noexcept;  // undoes take()

  std::uint32_t count() const noexcept { return count_; }
  void clear(PacketPool& pool) noexcept;
  void shrink() noexcept;  // frees the ring if it is empty

 private:
  static constexpr std::uint32_t kFirst = 32;
  struct Held {
    PacketPool::Slot slot = PacketPool::kNone;
    Seq seq = 0;
    std::uint16_t bytes = 0;
    std::uint8_t flags = 0;
  };
  bool grow(std::uint32_t wanted) noexcept;

  std::unique_ptr<Held[]> ring_;
  std::uint32_t capacity_ = 0;
  std::uint32_t count_ = 0;
};

}  // namespace herald::rel
