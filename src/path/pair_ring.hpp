// SPDX-License-Identifier: BSD-3-Clause
// path/pair_ring.hpp: packets from one process to one other, in order: a ring of cache lines with one
// producer and one consumer, in any memory. No instruction is locked, and each packet is handed over by one
// store.
//
// An entry begins at a line: a word that says how long it is and where in it the packet begins, then the
// packet, in one piece. Lines are counted from the beginning of time. The word is 0 while the entry is not
// there: the producer clears that of the next entry before it hands over this one, for old bytes of a packet
// may lie there. An entry that would not fit before the end of the ring is preceded by one that is skipped.
// The consumer writes to no entry; it tells now and then, each quarter of a round, how far it is.
//
// What it costs to move a line between two processors is hidden where it can be: when an entry is handed
// over, its lines are sent towards the memory that both share, where the consumer finds them sooner than in
// the producer's own; and the lines of the next entry, if that is as long as this, are asked for, so that
// they are here when they are written. The line that the consumer looks at meanwhile is left to it until we
// know that we will write. Its processor, too, fetches lines ahead, those behind what it reads: so all are
// asked for once more then.
#pragma once
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>

#include "base/fatal.hpp"
#include "path/inbox.hpp"

namespace herald::path {

// Asks for a cache line to be written soon; does not wait for it.
inline void own_line(const void* address) noexcept {
#if defined(__x86_64__)
  asm volatile("prefetchw (%0)" : : "r"(address));
#else
  __builtin_prefetch(address, 1);
#endif
}

// Another processor will read this line next. (Processors that do not know the hint do nothing.)
inline void give_line(const void* address) noexcept {
#if defined(__x86_64__)
  asm volatile(".byte 0x0f, 0x1c, 0x00" : : "a"(address));  // cldemote (%rax)
#else
  (void)address;
#endif
}

struct RingShape {
  std::uint32_t lines = 0;         // a power of two; 0: there are no rings
  std::uint32_t packet_bytes = 0;  // the longest packet

  static constexpr std::uint32_t kWord = 8;     // where a packet begins in its entry: behind the word,
  static constexpr std::uint32_t kPadded = 24;  // or so that what follows its head begins at a line
  static constexpr std::uint32_t kMostLines = 1u << 20;

  static constexpr std::uint32_t lines_for(std::uint32_t bytes) noexcept {
    return (bytes + static_cast<std::uint32_t>(kCacheLine) - 1) / static_cast<std::uint32_t>(kCacheLine);
  }
  std::uint32_t most_lines() const noexcept { return lines_for(kPadded + packet_bytes); }
  // At least `bytes`, and what four of the longest packets need.
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

// What both ends know of a ring.
class RingEnd {
 public:
  bool is_open() const noexcept { return taken_ != nullptr; }

 protected:
  RingEnd() noexcept = default;
  RingEnd(void* memory, const RingShape& shape) noexcept
      : taken_(static_cast<std::atomic<std::uint64_t>*>(memory)),
        first_(static_cast<std::byte*>(memory) + kCacheLine),
        mask_(shape.lines - 1),
        most_(shape.most_lines()) {}

  // The word of an entry: a mark, where the packet begins (0: nowhere, the entry is skipped), its length.
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
};

class RingWriter : public RingEnd {
 public:
  RingWriter() noexcept = default;
  // `memory`: shape.bytes() zero bytes, aligned to a cache line.
  RingWriter(void* memory, const RingShape& shape) noexcept : RingEnd(memory, shape) {}

  // Where the next packet goes, room for the longest; null: full. `begin`: kWord or kPadded.
  std::byte* claim(std::uint32_t begin = RingShape::kWord) noexcept {
    if (at_ + most_ >= limit_ && !find_room()) return nullptr;
    begin_ = begin;
    return line(at_) + begin;
  }
  // The next entry, as long as the last one was, will be written right now.
  void expect_claim() const noexcept {
    own_line(line(at_));
    own_line(line(at_ + 1));
    for (std::uint64_t each = at_ + 2; each < owned_; ++each) own_line(line(each));
  }
  void publish(std::uint32_t size) noexcept {
    hand_over(size);
    prepare(false);
  }
  // The same in two parts, what is to be done soon and what is to be done then. `awaited`: the consumer is
  // likely to look for it right now. Then all lines are sent towards it, not only those of a short entry: in
  // a stream of long ones that would cost more than it brings.
  void hand_over(std::uint32_t size) noexcept {
    used_ = RingShape::lines_for(begin_ + size);
    word(at_ + used_).store(0, std::memory_order_relaxed);
    word(at_).store(word_for(begin_, size), std::memory_order_release);
    at_ += used_;
  }
  void prepare(bool awaited) noexcept {
    if (used_ > 1 && (awaited || used_ <= kAhead))
      for (std::uint64_t each = at_ - used_; each != at_; ++each) give_line(line(each));
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
    may_ = taken_->load(std::memory_order_acquire) + lines();
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
  std::uint64_t may_ = 0;    // lines below this may be written, as far as we know
  std::uint64_t limit_ = 0;  // the same, or behind the end of the ring: an entry and its next lie below
  std::uint64_t owned_ = 0;  // lines below this were asked for
  std::uint32_t begin_ = 0;  // of the claimed entry
  std::uint32_t used_ = 0;   // lines of the last one
};

class RingReader : public RingEnd {
 public:
  RingReader() noexcept = default;
  RingReader(void* memory, const RingShape& shape) noexcept
      : RingEnd(memory, shape), tell_at_(shape.lines / 4), quarter_(shape.lines / 4) {}

  // The next packet; empty data() if there is none. What contradicts itself is a bug of the producer and ends
  // this process, too: it is not followed.
  std::span<const std::byte> front() noexcept {
    const std::uint64_t seen = word(at_).load(std::memory_order_acquire);
    if (seen == 0) return {};
    return found(seen);
  }
  // After front(), when packets come one after the other: the next ones are wanted soon.
  void look_ahead() const noexcept {
    __builtin_prefetch(line(at_ + used_));
    __builtin_prefetch(line(at_ + used_ + 1));
  }
  std::uint64_t position() const noexcept { return at_; }
  bool is_empty() const noexcept { return word(at_).load(std::memory_order_acquire) == 0; }
  // After front(). True once in a quarter of a round: producers that starve can go on.
  bool pop() noexcept {
    at_ += used_;
    if (at_ < tell_at_) return false;
    tell_at_ = at_ + quarter_;
    taken_->store(at_, std::memory_order_release);
    return true;
  }

 private:
  std::span<const std::byte> found(std::uint64_t seen) noexcept {
    std::uint32_t begin = begin_in(seen), size = size_in(seen);
    const std::uint32_t left = before_end(at_);
    HERALD_ASSERT((seen >> 32 == kMark >> 32) && "an entry of a ring in shared memory is damaged");
    if (begin == 0) {
      HERALD_ASSERT(size == left && size < most_ && "a ring in shared memory is damaged at its end");
      at_ += left;
      return front();
    }
    used_ = RingShape::lines_for(begin + size);
    HERALD_ASSERT((begin == RingShape::kWord || begin == RingShape::kPadded) && used_ <= most_ &&
                  used_ <= left && "the length of a packet in shared memory is damaged");
    return {line(at_) + begin, size};
  }

  std::uint64_t at_ = 0;       // the next entry
  std::uint64_t tell_at_ = 0;  // when the producer is told how far we are
  std::uint32_t quarter_ = 0;
  std::uint32_t used_ = 0;  // lines of the entry that front() found
};

}  // namespace herald::path
