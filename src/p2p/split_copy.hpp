// SPDX-License-Identifier: BSD-3-Clause
// p2p/split_copy.hpp: the state of a message that both sides copy at once, in memory that both have mapped:
// the receiver reads from the front, the sender writes from the back, and each claims a share before it
// copies it, until all is claimed. And the interface that copies bytes between the two memories. Invariant:
// each side copies what it claimed, or, from the back, marks it as failed: then that side claims no more, and
// the failed share is the one in the middle.
//
// A receive that is posted before its message comes can be advertised in a split copy (paper 002: the receive
// queue lies where the sender sees it): the ad says which message it waits for and where that goes. The
// sender of this message takes the ad and begins at once, whatever the receiver does meanwhile.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstdint>
#include <span>

#include "base/status.hpp"
#include "type/cursor.hpp"

namespace herald::p2p {

constexpr std::uint64_t kShareUnit = 4096;  // shares are counted in this many bytes
constexpr std::uint32_t kSplitCopies = 64;  // of one process
constexpr std::uint32_t kAds = 32;          // behind them, for ads: by the number of the sender
constexpr std::uint32_t kAllSplitCopies = kSplitCopies + kAds;
constexpr std::uint32_t kMinShare = 4;     // units
constexpr std::uint32_t kLongShare = 16;   // units, of a message of ...
constexpr std::uint32_t kLongUnits = 512;  // ... so many: one side may well be slower
constexpr std::uint32_t kMaxShare = 128;   // units, in one turn
constexpr std::uint32_t kAloneShare = 32;  // units, of a side that is alone, so that the other can still help
constexpr std::uint64_t kMaxUnits = 1u << 31;  // of one message; one side alone copies longer ones

struct Share {
  std::uint64_t begin = 0, end = 0;  // bytes of the message
  bool empty() const noexcept { return begin == end; }
  std::uint64_t bytes() const noexcept { return end - begin; }
};

// Which message a receive waits for, and where it goes. `seen` messages of the sender have come before: the
// ad is for the next one.
struct PostedRecvAd {
  std::uint64_t context = 0, address = 0, room = 0;
  std::int32_t from = -1, tag = 0;
  std::uint32_t seen = 0;
  bool at_once = false;  // as in RecvOp
};

struct alignas(64) SplitCopy {
  std::atomic<std::uint64_t> taken;     // units from the front (low half) and from the back (high half)
  std::atomic<std::uint32_t> moved;     // units from the back that are copied, or failed
  std::atomic<std::uint32_t> failed;    // units of the last share from the back, which could not be copied
  std::atomic<std::uint32_t> released;  // the sender no longer accesses it
  std::atomic<std::uint32_t> turn;      // odd: there is an ad; adding one takes or withdraws it
  std::atomic<std::uint32_t> seen;      // the ad, field by field
  std::atomic<std::int32_t> from, tag;
  std::atomic<std::uint32_t> present;  // the receiver blocks until it is done
  std::atomic<std::uint64_t> context, address, room;

  // By the receiver.
  void make_ad(const PostedRecvAd& ad) noexcept {
    (void)begin(0, ad.at_once);
    seen.store(ad.seen, std::memory_order_relaxed);
    from.store(ad.from, std::memory_order_relaxed);
    tag.store(ad.tag, std::memory_order_relaxed);
    context.store(ad.context, std::memory_order_relaxed);
    address.store(ad.address, std::memory_order_relaxed);
    room.store(ad.room, std::memory_order_relaxed);
    turn.store((turn.load(std::memory_order_relaxed) + 1) | 1, std::memory_order_release);
  }
  // False: the sender has taken it.
  bool withdraw() noexcept {
    std::uint32_t now = turn.load(std::memory_order_relaxed);
    return (now & 1) != 0 && turn.compare_exchange_strong(now, now + 1, std::memory_order_acq_rel);
  }
  // By the sender of this message, of so many bytes: where it goes, if the ad is for it; else 0.
  std::uint64_t take_ad(const PostedRecvAd& message, std::uint64_t bytes) noexcept {
    std::uint32_t now = turn.load(std::memory_order_acquire);
    if ((now & 1) == 0 || from.load(std::memory_order_relaxed) != message.from ||
        tag.load(std::memory_order_relaxed) != message.tag ||
        context.load(std::memory_order_relaxed) != message.context ||
        seen.load(std::memory_order_acquire) != message.seen || room.load(std::memory_order_relaxed) < bytes)
      return 0;
    const std::uint64_t where = address.load(std::memory_order_relaxed);
    return turn.compare_exchange_strong(now, now + 1, std::memory_order_acq_rel) ? where : 0;
  }

  // By the receiver. A receiver that blocks claims its half at once: the cache line may be the sender's, and
  // another access would wait for it. Otherwise the side that comes first copies, be it the sender alone.
  Share begin(std::uint64_t bytes, bool at_once, bool whole = false) noexcept {
    const std::uint32_t units = units_of(bytes), part = whole ? units : own_part(units);
    const std::uint32_t first = at_once ? std::min(part, kMaxShare) : 0;
    moved.store(0, std::memory_order_relaxed);
    failed.store(0, std::memory_order_relaxed);
    released.store(0, std::memory_order_relaxed);
    present.store(at_once ? 1 : 0, std::memory_order_relaxed);
    taken.store(first, std::memory_order_release);
    return {0, std::min(bytes, first * kShareUnit)};
  }
  bool is_all_taken(std::uint64_t bytes) const noexcept {
    const std::uint64_t both = taken.load(std::memory_order_relaxed);
    return (both & 0xffffffff) + (both >> 32) >= units_of(bytes);
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
  // The sender alone claimed and copied all of it: both sides see that it is complete.
  bool is_all_written(std::uint64_t bytes) const noexcept {
    return back() == units_of(bytes) && moved.load(std::memory_order_acquire) == units_of(bytes) &&
           failed.load(std::memory_order_acquire) == 0;
  }

  // Every claim costs a system call, and pages that always the same side copies stay in its cache: so each
  // side claims its half, at once if it is not too long. Of a long message it is seven eighths of a half: the
  // side that comes first gets the middle. A side that is alone claims little at a time. A receiver that was
  // not in the library while the sender copied shares the rest with it.
  static std::uint32_t next_share(std::uint32_t units, std::uint32_t mine, std::uint32_t others,
                                  bool was_away) noexcept {
    const std::uint32_t rest = units - mine - others, own = own_part(units);
    std::uint32_t wish = std::max(rest / 2, units < kLongUnits ? kMinShare : kLongShare);
    if (mine < own && !(was_away && rest > kAloneShare))
      wish = own - mine;
    else if (others == 0)
      wish = kAloneShare;
    return std::min({wish, rest, kMaxShare});
  }
  static std::uint32_t own_part(std::uint32_t units) noexcept {
    const std::uint32_t half = units - units / 2;
    return units < kLongUnits ? half : half - half / 8;
  }
  // The next share of a message of `bytes`; empty when all is claimed. The peer's values are not trusted.
  // `whole`: all of it, for the other side has other messages to copy.
  Share claim(std::uint64_t bytes, bool from_front, bool whole = false) noexcept {
    const std::uint32_t units = units_of(bytes);
    std::uint64_t both = taken.load(std::memory_order_acquire);
    for (;;) {
      const auto low = static_cast<std::uint32_t>(both);
      const auto high = static_cast<std::uint32_t>(both >> 32);
      if (std::uint64_t{low} + high >= units) return {};
      const bool was_away = from_front && present.load(std::memory_order_relaxed) == 0 &&
                            moved.load(std::memory_order_relaxed) != 0;
      const std::uint32_t share =
          whole ? std::min(units - low - high, kMaxShare)
                : next_share(units, from_front ? low : high, from_front ? high : low, was_away);
      const std::uint64_t next = both + (from_front ? share : std::uint64_t{share} << 32);
      if (!taken.compare_exchange_weak(both, next, std::memory_order_acq_rel)) continue;
      const std::uint64_t at = from_front ? low : units - high - share;
      return {at * kShareUnit, std::min(bytes, (at + share) * kShareUnit)};
    }
  }
  // Neither side gets any more of it.
  void take_rest(std::uint64_t bytes) noexcept {
    const std::uint32_t units = units_of(bytes);
    std::uint64_t both = taken.load(std::memory_order_acquire);
    while (!taken.compare_exchange_weak(both, (both & ~std::uint64_t{0xffffffff}) | (units - (both >> 32)),
                                        std::memory_order_acq_rel)) {
    }
  }
  void put(const Share& share, bool good) noexcept {
    const std::uint32_t units = units_of(share.bytes());
    if (!good) failed.store(units, std::memory_order_release);
    moved.fetch_add(units, std::memory_order_acq_rel);
  }
};
static_assert(sizeof(SplitCopy) == 64);

// Copies bytes between our memory and a peer's, in the order of the runs; both sides have as many bytes.
class Mover {
 public:
  virtual ~Mover() = default;
  // peer_lost: the peer is gone; anything else but ok: its memory is not accessible.
  virtual Status read(std::int32_t peer, std::span<const type::Run> here,
                      std::span<const type::Run> there) noexcept = 0;
  virtual Status write(std::int32_t peer, std::span<const type::Run> here,
                       std::span<const type::Run> there) noexcept = 0;
  // The split copy of the peer has changed: it may sleep and wait for that.
  virtual void notify(std::int32_t peer) noexcept = 0;
};

}  // namespace herald::p2p
