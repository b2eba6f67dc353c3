// SPDX-License-Identifier: BSD-3-Clause
// p2p/meeting.hpp: where the two sides of one message meet when both move bytes of it at once, in memory that
// both have mapped: the receiver reads from the front, the sender writes from the back, each claims a share
// before it moves it, until nothing is left between them. And the ways of moving bytes between the two
// memories. Invariant: what is claimed is moved by who claimed it, or, from the back, marked as failed: then
// that side claims no more, and the failed share is the one in the middle.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <span>

#include "base/status.hpp"
#include "type/cursor.hpp"

namespace herald::p2p {

constexpr std::uint64_t kShareUnit = 4096;      // shares are counted in this many bytes
constexpr std::uint32_t kMeetings = 64;         // that one process has
constexpr std::uint32_t kLeastShare = 4;        // units
constexpr std::uint32_t kMostShare = 128;       // units: no longer in one turn
constexpr std::uint64_t kMostUnits = 1u << 31;  // of one message; longer ones are moved by one side alone

struct Share {
  std::uint64_t begin = 0, end = 0;  // bytes of the message
  bool empty() const noexcept { return begin == end; }
  std::uint64_t bytes() const noexcept { return end - begin; }
};

struct alignas(64) Meeting {
  std::atomic<std::uint64_t> taken;   // units from the front (low half) and from the back (high half)
  std::atomic<std::uint32_t> moved;   // units from the back that are in place, or failed
  std::atomic<std::uint32_t> failed;  // units of the last share from the back, which could not be moved
  std::atomic<std::uint32_t> left;    // the sender looks into it no more

  // By the receiver, who has its first share with it: the line may be the sender's, and is not waited for.
  Share begin(std::uint64_t bytes) noexcept {
    const std::uint32_t first = next_share(units_of(bytes), 0, 0);
    moved.store(0, std::memory_order_relaxed);
    failed.store(0, std::memory_order_relaxed);
    left.store(0, std::memory_order_relaxed);
    taken.store(first, std::memory_order_release);
    return {0, std::min(bytes, first * kShareUnit)};
  }
  bool is_all_taken(std::uint64_t bytes) const noexcept {
    const std::uint64_t seen = taken.load(std::memory_order_relaxed);
    return (seen & 0xffffffff) + (seen >> 32) >= units_of(bytes);
  }
  static std::uint32_t units_of(std::uint64_t bytes) noexcept {
    return static_cast<std::uint32_t>((bytes + kShareUnit - 1) / kShareUnit);
  }
  std::uint32_t front() const noexcept {
    return static_cast<std::uint32_t>(taken.load(std::memory_order_acquire));
  }
  std::uint32_t back() const noexcept {
    return static_cast<std::uint32_t>(taken.load(std::memory_order_acquire) >> 32);
  }

  // Every claim costs a system call, and pages that always the same side moves stay in its cache: so each
  // side takes its half, at once if it is not too long. Who is done with it helps the other; where the other
  // has not even begun, it is not there and all is taken.
  static std::uint32_t next_share(std::uint32_t units, std::uint32_t mine, std::uint32_t others) noexcept {
    const std::uint32_t left = units - mine - others, half = units - units / 2;
    const std::uint32_t wish = mine < half   ? half - mine
                               : others == 0 ? left
                                             : std::max(left / 2, kLeastShare);
    return std::min({wish, left, kMostShare});
  }
  // The next share of a message of `bytes`; empty when all is taken. What the peer wrote is not believed.
  Share claim(std::uint64_t bytes, bool from_front) noexcept {
    const std::uint32_t units = units_of(bytes);
    std::uint64_t seen = taken.load(std::memory_order_acquire);
    for (;;) {
      const auto low = static_cast<std::uint32_t>(seen);
      const auto high = static_cast<std::uint32_t>(seen >> 32);
      if (std::uint64_t{low} + high >= units) return {};
      const std::uint32_t share = next_share(units, from_front ? low : high, from_front ? high : low);
      const std::uint64_t next = seen + (from_front ? share : std::uint64_t{share} << 32);
      if (!taken.compare_exchange_weak(seen, next, std::memory_order_acq_rel)) continue;
      const std::uint64_t at = from_front ? low : units - high - share;
      return {at * kShareUnit, std::min(bytes, (at + share) * kShareUnit)};
    }
  }
  // Nobody gets anything more of it.
  void take_rest(std::uint64_t bytes) noexcept {
    const std::uint32_t units = units_of(bytes);
    std::uint64_t seen = taken.load(std::memory_order_acquire);
    while (!taken.compare_exchange_weak(seen, (seen & ~std::uint64_t{0xffffffff}) | (units - (seen >> 32)),
                                        std::memory_order_acq_rel)) {
    }
  }
  void put(const Share& share, bool good) noexcept {
    const std::uint32_t units = units_of(share.bytes());
    if (!good) failed.store(units, std::memory_order_release);
    moved.fetch_add(units, std::memory_order_acq_rel);
  }
};
static_assert(sizeof(Meeting) == 64);

// Moves bytes between our memory and a peer's, in the order of the runs; both sides have as many bytes.
class Mover {
 public:
  virtual ~Mover() = default;
  // peer_lost: it is gone, as others will tell; anything else but ok: it cannot be done this way.
  virtual Status read(std::int32_t peer, std::span<const type::Run> here,
                      std::span<const type::Run> there) noexcept = 0;
  virtual Status write(std::int32_t peer, std::span<const type::Run> here,
                       std::span<const type::Run> there) noexcept = 0;
  // A peer's meeting says that its bytes are there: it may sleep and wait for just that.
  virtual void tell(std::int32_t peer) noexcept = 0;
};

}  // namespace herald::p2p
