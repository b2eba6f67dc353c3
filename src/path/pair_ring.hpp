// SPDX-License-Identifier: BSD-3-Clause
// path/pair_ring.hpp: packets from one process to one other, in order: a ring of cache lines with one
// producer and one consumer, in any memory. No instruction is locked, and one store publishes a packet.
//
// An entry begins at a line: a word with its length and the offset of the packet, then the packet in one
// piece. Lines count from 0 and never wrap. The word is 0 until the entry is published: the producer clears
// the word of the next entry before it publishes this one, since bytes of an old packet may lie there. An
// entry that would not fit before the end of the ring is preceded by one that the consumer skips. The
// consumer writes to no entry; it updates its position once in a quarter of a round.
//
// Moving a line between two processors is hidden where possible. A published entry is demoted (cldemote) to
// the cache that both share. The lines of the next entry, if it is as long as this one, are prefetched for
// writing. The line that the consumer polls is left to it until the producer knows that it will write; the
// consumer's hardware prefetcher may take the lines behind it, so the producer requests all of them again.
//
// Each end checks what the other end wrote before it uses it (damage()).
#pragma once
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "path/inbox.hpp"

namespace herald::path {

// Prefetches a cache line that will be written soon.
inline void own_line(const void* address) noexcept {
#if defined(__x86_64__)
  asm volatile("prefetchw (%0)" : : "r"(address));
#else
  __builtin_prefetch(address, 1);
#endif
}

// Another processor will read this line next. Processors that do not know the hint ignore it.
inline void demote_line(const void* address) noexcept {
#if defined(__x86_64__)
  asm volatile(".byte 0x0f, 0x1c, 0x00" : : "a"(address));  // cldemote (%rax)
#else
  (void)address;
#endif
}

struct RingShape {
  std::uint32_t lines = 0;         // a power of two; 0: there are no rings
  std::uint32_t packet_bytes = 0;  // the longest packet

  static constexpr std::uint32_t kWord = 8;     // offset of a packet in its entry: behind the word,
  static constexpr std::uint32_t kPadded = 24;  // or so that the payload behind its header begins at a line
  static constexpr std::uint32_t kMostLines = 1u << 20;

  static constexpr std::uint32_t lines_for(std::uint32_t bytes) noexcept {
    return (bytes + static_cast<std::uint32_t>(kCacheLine) - 1) / static_cast<std::uint32_t>(kCacheLine);
  }
  std::uint32_t most_lines() const noexcept { return lines_for(kPadded + packet_bytes); }
  // At least `bytes`, and space for four of the longest packets.
  static RingShape make(std::size_t bytes, std::size_t packet_bytes) noexcept {
    RingShape shape;
    shape.packet_bytes = static_cast<std::uint32_t>(packet_bytes);
    const auto wished = static_cast<std::uint32_t>(bytes / kCacheLine);
    const std::uint32_t least = 4 * shape.most_lines();
    shape.lines = std::bit_ceil(wished > least ? wished : least);
    return shape;
  }
  bool sane() const noexcept {
    return std::has_single_bit(lines) && lines <= kMostLines && packet_bytes != 0 &&
           packet_bytes <= InboxShape::kMostCellBytes && lines >= 4 * most_lines();
  }
  std::size_t bytes() const noexcept { return kCacheLine + std::size_t{lines} * kCacheLine; }
};

// The part of a ring that both ends have in common.
class RingEnd {
 public:
  bool is_open() const noexcept { return taken_ != nullptr; }
  // An impossible value that the other end wrote, for a message; null: none. A damaged ring is not used any
  // more.
  const char* damage() const noexcept { return damage_; }

 protected:
  RingEnd() noexcept = default;
  RingEnd(void* memory, const RingShape& shape) noexcept
      : taken_(static_cast<std::atomic<std::uint64_t>*>(memory)),
        first_(static_cast<std::byte*>(memory) + kCacheLine),
        mask_(shape.lines - 1),
        most_(shape.most_lines()) {}

  // The word of an entry: a mark, the offset of the packet (0: the entry is skipped), its length.
  static constexpr std::uint64_t kMark = std::uint64_t{0x48524c44} << 32;
  static constexpr std::uint64_t word_for(std::uint32_t begin, std::uint32_t size) noexcept {
    return kMark | std::uint64_t{begin} << 24 | size;
  }
  static constexpr std::uint32_t size_in(std::uint64_t word) noexcept {
    return static_cast<std::uint32_t>(word) & 0xff'ffff;
  }
  static constexpr std::uint32_t begin_in(std::uint64_t word) noexcept {
    return static_cast<std::uint32_t>(word) >> 24;
  }

  std::byte* line(std::uint64_t at) const noexcept { return first_ + (at & mask_) * kCacheLine; }
  std::atomic<std::uint64_t>& word(std::uint64_t at) const noexcept {
    return *reinterpret_cast<std::atomic<std::uint64_t>*>(line(at));
  }
  std::uint64_t lines() const noexcept { return mask_ + 1; }
  std::uint32_t before_end(std::uint64_t at) const noexcept {
    return static_cast<std::uint32_t>(lines() - (at & mask_));
  }

  std::atomic<std::uint64_t>* taken_ = nullptr;  // lines, by the consumer
  std::byte* first_ = nullptr;
  std::uint64_t mask_ = 0;
  std::uint32_t most_ = 0;
  const char* damage_ = nullptr;
};

class RingWriter : public RingEnd {
 public:
  RingWriter() noexcept = default;
  // `memory`: shape.bytes() zero bytes, aligned to a cache line.
  RingWriter(void* memory, const RingShape& shape) noexcept : RingEnd(memory, shape) {}

  // Where the next packet goes, with space for the longest; null: full or damaged. `begin`: kWord or kPadded.
  std::byte* claim(std::uint32_t begin = RingShape::kWord) noexcept {
    if (at_ + most_ >= limit_ && !find_room()) return nullptr;
    begin_ = begin;
    return line(at_) + begin;
  }
  // The next entry, as long as the last one, is about to be written.
  void expect_claim() const noexcept {
    own_line(line(at_));
    own_line(line(at_ + 1));
    for (std::uint64_t each = at_ + 2; each < owned_; ++each) own_line(line(each));
  }
  void publish(std::uint32_t size) noexcept {
    hand_over(size);
    prepare(false);
  }
  // The same in two parts: publish, then prepare the next entry. `awaited`: the consumer probably polls right
  // now. Then all lines are demoted, not only those of a short entry: in a stream of long entries that would
  // cost more than it saves.
  void hand_over(std::uint32_t size) noexcept {
    used_ = RingShape::lines_for(begin_ + size);
    word(at_ + used_).store(0, std::memory_order_relaxed);
    word(at_).store(word_for(begin_, size), std::memory_order_release);
    at_ += used_;
  }
  void prepare(bool awaited) noexcept {
    if (used_ > 1 && (awaited || used_ <= kAhead))
      for (std::uint64_t each = at_ - used_; each != at_; ++each) demote_line(line(each));
    own_ahead(used_);
  }

 private:
  static constexpr std::uint32_t kAhead = 4;  // lines of short packets

  void own_ahead(std::uint32_t used) noexcept {
    std::uint64_t end = at_ + 1 + (used > kAhead ? used : kAhead);
    if (end > may_) end = may_;
    for (owned_ = owned_ > at_ ? owned_ : at_ + 1; owned_ < end; ++owned_) own_line(line(owned_));
  }
  bool find_room() noexcept {
    const std::uint64_t taken = taken_->load(std::memory_order_acquire);
    if (taken > at_ || at_ - taken > lines()) damage_ = "the reader's position in a ring is impossible";
    if (damage_ != nullptr) return false;
    may_ = taken + lines();
    std::uint32_t left = before_end(at_);
    if (left < most_) {
      if (at_ + left + most_ >= may_) return false;
      word(at_ + left).store(0, std::memory_order_relaxed);
      word(at_).store(word_for(0, left), std::memory_order_release);
      at_ += left;
      left = before_end(at_);
    }
    limit_ = at_ + left + 1 < may_ ? at_ + left + 1 : may_;
    return at_ + most_ < limit_;
  }

  std::uint64_t at_ = 0;     // the next entry
  std::uint64_t may_ = 0;    // lines below this are free, as far as the producer knows
  std::uint64_t limit_ = 0;  // the same, or behind the end of the ring: an entry and its next lie below
  std::uint64_t owned_ = 0;  // lines below this were prefetched
  std::uint32_t begin_ = 0;  // of the claimed entry
  std::uint32_t used_ = 0;   // lines of the last one
};

class RingReader : public RingEnd {
 public:
  RingReader() noexcept = default;
  RingReader(void* memory, const RingShape& shape) noexcept
      : RingEnd(memory, shape), tell_at_(shape.lines / 4), quarter_(shape.lines / 4) {}

  // The next packet; data() is null if there is none or the ring is damaged.
  std::span<const std::byte> front() noexcept {
    const std::uint64_t seen = word(at_).load(std::memory_order_acquire);
    if (seen == 0) return {};
    return found(seen);
  }
  // After front(), in a burst of packets: prefetches the next ones.
  void look_ahead() const noexcept {
    __builtin_prefetch(line(at_ + used_));
    __builtin_prefetch(line(at_ + used_ + 1));
  }
  std::uint64_t position() const noexcept { return at_; }
  bool is_empty() const noexcept {
    return word(at_).load(std::memory_order_acquire) == 0 || damage_ != nullptr;
  }
  // After front(). True once in a quarter of a round: a producer that waits for space can go on.
  bool pop() noexcept {
    at_ += used_;
    if (at_ < tell_at_) return false;
    tell_at_ = at_ + quarter_;
    taken_->store(at_, std::memory_order_release);
    return true;
  }

 private:
  std::span<const std::byte> found(std::uint64_t seen) noexcept {
    const std::uint32_t begin = begin_in(seen), size = size_in(seen), left = before_end(at_);
    if (begin == 0 && seen >> 32 == kMark >> 32 && size == left && size < most_) {
      at_ += left;
      return front();
    }
    used_ = RingShape::lines_for(begin + size);
    if (seen >> 32 != kMark >> 32)
      damage_ = "an entry of a ring has no mark";
    else if ((begin != RingShape::kWord && begin != RingShape::kPadded) || used_ > most_ || used_ > left)
      damage_ = "the length of a packet in a ring is impossible";
    if (damage_ != nullptr) [[unlikely]]
      return {};
    return {line(at_) + begin, size};
  }

  std::uint64_t at_ = 0;       // the next entry
  std::uint64_t tell_at_ = 0;  // when the producer is to see our position
  std::uint32_t quarter_ = 0;
  std::uint32_t used_ = 0;  // lines of the entry that front() found
};

}  // namespace herald::path
