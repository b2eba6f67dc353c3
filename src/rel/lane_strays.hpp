// SPDX-License-Identifier: BSD-3-Clause
// rel/lane_strays.hpp: casts of lanes that are not open here: not yet (they are kept for a while), or no
// longer (whoever asks is told).
// Invariants: bounded in number, in time, and to a share of the pool.
#pragma once
#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "base/instant.hpp"
#include "rel/lane_queue.hpp"
#include "rel/packet_pool.hpp"
#include "rel/seq.hpp"

namespace herald::rel {

class LaneStrays {
 public:
  static constexpr std::size_t kMostKept = 512;
  static constexpr std::size_t kMostReplies = 64;
  static constexpr std::size_t kMostClosed = 256;

  struct Stray {
    std::uint64_t name = 0;
    Instant at{};
    std::uint32_t from = 0;
    Seq seq = 0;
    PacketPool::Slot slot = PacketPool::kNone;  // the body
    std::uint16_t bytes = 0;
    std::uint8_t kind = 0, flags = 0;
    bool by_group = false;
  };
  struct Reply {
    std::uint64_t name = 0;
    std::int32_t to = 0;
    bool closed = false;
  };

  bool has_room(const PacketPool& pool, std::uint64_t most_bytes) const noexcept {
    return kept_.size() < kMostKept && (kept_.size() + 1) * pool.slot_bytes() <= most_bytes / 4;
  }
  void keep(const Stray& stray) noexcept { kept_.push_back(stray); }
  bool empty() const noexcept { return kept_.empty(); }
  bool waits_for(std::uint64_t name) const noexcept;
  // Takes out the oldest one of a lane; false: none.
  bool take(std::uint64_t name, Stray& out) noexcept;
  void expire(Instant before, PacketPool& pool) noexcept;
  void drop(std::uint64_t name, PacketPool& pool) noexcept;

  void reply(const Reply& reply) noexcept {
    if (replies_.size() < kMostReplies) replies_.push(reply);
  }
  LaneFifo<Reply>& replies() noexcept { return replies_; }
  const LaneFifo<Reply>& replies() const noexcept { return replies_; }

  void note_closed(std::uint64_t name) noexcept { closed_[next_closed_++ % kMostClosed] = {name, true}; }
  void note_opened(std::uint64_t name) noexcept;
  bool was_closed(std::uint64_t name) const noexcept;

 private:
  struct Closed {
    std::uint64_t name = 0;
    bool used = false;
  };
  std::vector<Stray> kept_;
  LaneFifo<Reply> replies_;
  std::array<Closed, kMostClosed> closed_{};
  std::size_t next_closed_ = 0;
};

}  // namespace herald::rel
