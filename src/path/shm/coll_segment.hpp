// SPDX-License-Identifier: BSD-3-Clause
// path/shm/coll_segment.hpp: memory that the processes of one communicator on one host share for collectives.
// A collective segment has channels. Operations of a channel are numbered from 0 upwards, the same at every
// rank; operation q uses slot q mod slots. In a slot every rank has a place, where it posts data (or the
// address of data) for the others, and there are barrier words that count ranks.
//
// Nothing is ever cleared: each word carries the number of its operation (plus 1: memory begins as zero), so
// a value of an older operation means "not yet". A slot is reused only when every rank has completed its last
// operation: each rank publishes now and then the number below which it has completed all (low). A rank that
// waits for that calls request_slot() and is rung. Order: a post is written before its stamp and read after
// it. A rank that has posted calls before_ring() before it checks for sleepers; a rank that is about to sleep
// announces it before its last check (seq_cst).
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

#include "path/inbox.hpp"
#include "path/shm/stream.hpp"

namespace herald::path {

struct Post {
  std::atomic<std::uint64_t> stamp;
  std::uint64_t address;  // in the poster's memory; 0: copied to its place; with kIncomplete or without
  std::uint64_t bytes;

  // Data of a lost rank is missing in it. No address has this bit.
  static constexpr std::uint64_t kIncomplete = std::uint64_t{1} << 62;
  bool is_incomplete() const noexcept { return (address & kIncomplete) != 0; }
  std::uint64_t place() const noexcept { return address & ~kIncomplete; }
};

constexpr int kSegmentPosts = 2, kBarrierWords = 3;

struct alignas(kCacheLine) Place {
  Post posts[kSegmentPosts];
  std::byte* data() noexcept { return reinterpret_cast<std::byte*>(this) + kHead; }
  static constexpr std::size_t kHead = kSegmentPosts * sizeof(Post);
};
static_assert(sizeof(Place) == kCacheLine && Place::kHead == 48);

struct alignas(kCacheLine) BarrierWords {
  std::atomic<std::uint64_t> count[kBarrierWords];  // (number + 1) << 16 | ranks that arrived
};

struct ChannelShape {
  std::uint32_t ranks = 0;
  std::uint32_t slots = 0;        // a power of two
  std::uint32_t place_bytes = 0;  // a multiple of the cache line

  std::size_t lows_at() const noexcept { return kCacheLine; }
  std::size_t split_copies_at() const noexcept { return lows_at() + ranks * kCacheLine; }
  std::size_t places_at() const noexcept { return split_copies_at() + slots * sizeof(BarrierWords); }
  std::size_t bytes() const noexcept { return places_at() + std::size_t{slots} * ranks * place_bytes; }
  std::uint32_t inline_bytes() const noexcept {
    return place_bytes - static_cast<std::uint32_t>(Place::kHead);
  }
};

// One rank's view of a channel.
class Channel {
 public:
  // `memory`: shape.bytes() bytes, zero at first, aligned to a cache line.
  Channel(void* memory, const ChannelShape& shape, int rank) noexcept
      : memory_(static_cast<std::byte*>(memory)), shape_(shape), rank_(static_cast<std::uint32_t>(rank)) {}

  const ChannelShape& shape() const noexcept { return shape_; }

  // All operations below `low` are complete here. Published once in a quarter of the slots (half of eight):
  // the other ranks can be ahead by the rest. Returns whom to ring: a rank, kRingAll or kRingNone.
  static constexpr int kRingNone = -1, kRingAll = -2;
  int set_low(std::uint64_t low) noexcept { return low < shown_ + batch() ? kRingNone : publish_low(low); }
  // Whether operation `number` may write to its slot. If not: request_slot(), check again, then sleep.
  bool is_free(std::uint64_t number) noexcept {
    return number < shape_.slots || all_low_ > number - shape_.slots || update_low(number - shape_.slots);
  }
  // False also if the rank has not published it yet.
  bool has_completed(std::uint64_t number, int rank) noexcept {
    return low_of(static_cast<std::uint32_t>(rank)).load(std::memory_order_acquire) > number;
  }
  void request_slot(std::uint64_t number) noexcept;

  // A rank that may sleep while it waits here calls watch() before its last check, and unwatch() afterwards.
  // A rank that has posted checks is_watched() after before_ring(): without a watcher there is no sleeper.
  void watch() noexcept { watchers().fetch_add(1, std::memory_order_seq_cst); }
  void unwatch() noexcept { watchers().fetch_sub(1, std::memory_order_relaxed); }
  bool is_watched() noexcept { return watchers().load(std::memory_order_seq_cst) != 0; }

  // Space for a copy: shape().inline_bytes() bytes.
  std::byte* room(std::uint64_t number) noexcept { return place(number, rank_).data(); }
  std::byte* copy_of(std::uint64_t number, int rank) noexcept {
    return place(number, static_cast<std::uint32_t>(rank)).data();
  }
  // address 0: the data is in room().
  void post(std::uint64_t number, int which, std::uint64_t address, std::uint64_t bytes) noexcept {
    Post& mine = place(number, rank_).posts[which];
    mine.address = address;
    mine.bytes = bytes;
    mine.stamp.store(number + 1, std::memory_order_release);
  }
  // All have posted, and nobody reads the copy yet: the post of `rank` is incomplete too.
  void mark_incomplete(std::uint64_t number, int rank) noexcept {
    place(number, static_cast<std::uint32_t>(rank)).posts[0].address |= Post::kIncomplete;
  }
  // After posts and arrivals, before the check for sleepers.
  static void before_ring() noexcept;
  // Null: not yet.
  const Post* posted(std::uint64_t number, int rank, int which) noexcept {
    const Post& post = place(number, static_cast<std::uint32_t>(rank)).posts[which];
    if (post.stamp.load(std::memory_order_seq_cst) != number + 1) return nullptr;
    if (post.place() != 0 || post.bytes <= shape_.inline_bytes()) return &post;
    damaged_by_ = rank;
    return nullptr;
  }

  // The rank that posted more bytes than its place has; -1: none.
  int damaged_by() const noexcept { return damaged_by_; }

  // True for the last rank.
  bool arrive(std::uint64_t number, int barrier_word) noexcept;
  // As if all ranks had arrived.
  void close_barrier(std::uint64_t number, int barrier_word) noexcept {
    count(number, barrier_word).store(stamp(number) | shape_.ranks, std::memory_order_seq_cst);
  }
  bool met(std::uint64_t number, int barrier_word) noexcept {
    return count(number, barrier_word).load(std::memory_order_seq_cst) == (stamp(number) | shape_.ranks);
  }

 private:
  static std::uint64_t stamp(std::uint64_t number) noexcept { return (number + 1) << 16; }
  std::uint32_t batch() const noexcept {
    return shape_.slots < 8 ? 1 : shape_.slots == 8 ? 4 : shape_.slots / 4;
  }
  std::uint32_t slot(std::uint64_t number) const noexcept {
    return static_cast<std::uint32_t>(number) & (shape_.slots - 1);
  }
  int publish_low(std::uint64_t low) noexcept;
  bool update_low(std::uint64_t below) noexcept;
  int notify_waiting() noexcept;
  // 0, or the operation that all must complete (plus 1) << 16 | the waiting rank (plus 1) or kSeveral.
  static constexpr std::uint64_t kSeveral = 0xffff;
  std::atomic<std::uint64_t>& waiting() noexcept {
    return *reinterpret_cast<std::atomic<std::uint64_t>*>(memory_);
  }
  std::atomic<std::uint64_t>& watchers() noexcept {
    return *reinterpret_cast<std::atomic<std::uint64_t>*>(memory_ + sizeof(std::uint64_t));
  }
  std::atomic<std::uint64_t>& low_of(std::uint32_t rank) noexcept {
    return *reinterpret_cast<std::atomic<std::uint64_t>*>(memory_ + shape_.lows_at() + rank * kCacheLine);
  }
  std::atomic<std::uint64_t>& count(std::uint64_t number, int barrier_word) noexcept {
    auto* all = reinterpret_cast<BarrierWords*>(memory_ + shape_.split_copies_at());
    return all[slot(number)].count[barrier_word];
  }
  Place& place(std::uint64_t number, std::uint32_t rank) noexcept {
    const std::size_t index = std::size_t{slot(number)} * shape_.ranks + rank;
    return *reinterpret_cast<Place*>(memory_ + shape_.places_at() + index * shape_.place_bytes);
  }

  std::byte* memory_;
  ChannelShape shape_;
  std::uint32_t rank_;
  std::uint64_t shown_ = 0;    // our low as published
  std::uint64_t all_low_ = 0;  // every rank's low was at least this at the last check
  int damaged_by_ = -1;
};

struct CollSegmentShape {
  std::uint32_t ranks = 0;
  std::uint32_t slots = 0;        // of the main channel, 0
  std::uint32_t place_bytes = 0;  // there
  std::uint32_t chunks = 0;       // of each rank's stream
  std::uint32_t sets = 1;         // of channels: an operation of two parts uses two
  static constexpr std::uint32_t kMostRanks = 4096;
  static constexpr std::uint32_t kMoreSlots =
      8;  // of each further channel; two ranks have as many as channel 0
  static constexpr std::uint32_t kMorePlace = 1024;
  static constexpr std::uint32_t kMoreChannels = 8;
  static constexpr std::uint32_t kChannels = 1 + kMoreChannels;

  // The largest shape of at most `most_bytes`, and `stream_bytes` for the streams; place_bytes is 0 if not
  // even the smallest fits.
  static CollSegmentShape make(int ranks, std::uint64_t most_bytes, std::uint64_t stream_bytes = 0,
                               std::uint32_t sets = 1) noexcept;
  ChannelShape channel(std::uint32_t which) const noexcept {
    if (which % kChannels == 0) return {ranks, slots, place_bytes};
    return {ranks, ranks == 2 ? slots : kMoreSlots, place_bytes < kMorePlace ? place_bytes : kMorePlace};
  }
  std::size_t channel_at(std::uint32_t which) const noexcept;
  StreamShape streams() const noexcept { return {ranks, chunks}; }
  std::size_t bytes() const noexcept { return channel_at(sets * kChannels) + streams().bytes(); }
};

// The file in shared memory. One rank creates it, the others attach it, and it loses its name as soon as all
// have it. While it has a name, its creator holds a lock on it (path/shm/stale.cpp).
class CollSegment {
 public:
  CollSegment() noexcept = default;
  ~CollSegment() { close(); }
  CollSegment(const CollSegment&) = delete;
  CollSegment& operator=(const CollSegment&) = delete;

  // False where there is no space, no permission, or no such file.
  bool create(const std::string& path, const CollSegmentShape& shape, std::uint64_t nonce) noexcept;
  bool attach(const std::string& path, const CollSegmentShape& shape, std::uint64_t nonce) noexcept;
  // The creator: removes the name.
  void unlink() noexcept;
  void close() noexcept;
  bool is_open() const noexcept { return memory_ != nullptr; }

  // Each rank publishes this about itself before the others read it.
  struct Owner {
    std::int32_t pid;
    std::int32_t spins;   // it has a core of its own
    std::uint64_t probe;  // the address of a word that holds kProbe
  };
  static constexpr std::uint64_t kProbe = 0x6865726f6c646a73u;
  Owner& owner(int rank) noexcept;
  Channel channel(std::uint32_t which, int rank) noexcept {
    return {memory_ + shape_.channel_at(which), shape_.channel(which), rank};
  }
  Streams streams(int rank) noexcept {
    return {memory_ + shape_.channel_at(shape_.sets * CollSegmentShape::kChannels), shape_.streams(), rank};
  }
  const CollSegmentShape& shape() const noexcept { return shape_; }

 private:
  bool map(int fd) noexcept;
  CollSegmentShape shape_;
  std::byte* memory_ = nullptr;
  int fd_ = -1;
  std::string path_;
};

}  // namespace herald::path
