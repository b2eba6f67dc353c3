// SPDX-License-Identifier: BSD-3-Clause
// path/inbox.hpp: where packets for one process arrive: a bounded ring of cells that many producers fill and
// one consumer empties, in any memory (private or shared), with the doorbell that the consumer sleeps on.
//
// Positions count from 0 and never wrap. A producer claims the next position if that is less than a round
// ahead of what the consumer has taken, writes into its cell, and publishes the cell by setting its turn to
// position + 1. The consumer writes to no cell: it counts what it has taken, and producers read that count
// only when they seem to be a round ahead. A claimed cell that is not published blocks those behind it, so
// publish() follows claim() closely.
//
// A producer that found the ring full sets its bit among the waiting producers; the consumer clears the bits
// after it has freed cells and rings those producers' doorbells.
//
// Other processes write here: the consumer checks every field before it uses it (damage()).
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "path/doorbell.hpp"

namespace herald::path {

struct alignas(kCacheLine) InboxHead {
  alignas(kCacheLine) std::atomic<std::uint64_t> claimed;  // next position, by producers
  alignas(kCacheLine) std::atomic<std::uint64_t> taken;    // next position, by the consumer
  alignas(kCacheLine) std::atomic<std::uint32_t> waiting;  // some producer waits for space
  std::atomic<std::uint32_t> closed;                       // the consumer has left for good
  DoorbellWords bell;
};

struct Cell {
  std::atomic<std::uint64_t> turn;
  std::int32_t from;
  std::uint32_t size;  // of the packet; or kRing | index: later packets of this producer come in that ring
  static constexpr std::uint32_t kRing = 1u << 31;
  std::byte* packet() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
  const std::byte* packet() const noexcept { return reinterpret_cast<const std::byte*>(this + 1); }
};
static_assert(sizeof(Cell) == 16);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free &&
              std::atomic<std::uint32_t>::is_always_lock_free);

// The dimensions of an inbox and the offsets of its parts.
struct InboxShape {
  std::uint32_t cells = 0;       // a power of two
  std::uint32_t cell_bytes = 0;  // a multiple of the cache line
  std::uint32_t producers = 0;   // ids 0 .. producers - 1

  static constexpr std::uint32_t kMostCells = 1u << 16;
  static constexpr std::uint32_t kMostCellBytes = 1u << 21;
  // Rounds what the user requested up to what the ring supports.
  static InboxShape make(std::uint64_t cells, std::uint64_t packet_bytes, std::uint32_t producers) noexcept;
  bool sane() const noexcept;

  std::uint32_t quarter() const noexcept { return cells < 4 ? 1 : cells / 4; }
  std::size_t words() const noexcept { return (std::size_t{producers} + 63) / 64; }
  std::size_t cells_at() const noexcept {
    return (sizeof(InboxHead) + words() * 8 + kCacheLine - 1) / kCacheLine * kCacheLine;
  }
  std::size_t bytes() const noexcept { return cells_at() + std::size_t{cells} * cell_bytes; }
  std::size_t packet_bytes() const noexcept { return cell_bytes - sizeof(Cell); }
};

// One process's view of an inbox. The consumer is one process; its threads take turns under their own lock.
class Inbox {
 public:
  Inbox() noexcept = default;
  // `memory`: shape.bytes() bytes, aligned to a cache line.
  Inbox(void* memory, const InboxShape& shape) noexcept;
  // Once, by the owner, before any peer attaches; the memory is zero.
  void create() noexcept;

  const InboxShape& shape() const noexcept { return shape_; }
  std::size_t packet_bytes() const noexcept { return shape_.packet_bytes(); }
  Doorbell& bell() noexcept { return bell_; }
  bool is_open() const noexcept { return head_ != nullptr; }

  // Producer: null when full. Every claimed cell must be published.
  Cell* claim(std::uint64_t& position) noexcept;
  void publish(Cell& cell, std::uint64_t position, std::int32_t from, std::uint32_t size) noexcept {
    cell.from = from;
    cell.size = size;
    cell.turn.store(position + 1, std::memory_order_release);
  }
  // Producer: asks for a ring when there is space. Try to claim once more after this, then sleep.
  void request_space(std::uint32_t producer) noexcept;
  bool is_closed() const noexcept { return head_->closed.load(std::memory_order_acquire) != 0; }

  // Consumer: the next packet, null if there is none or the inbox is damaged.
  Cell* front() noexcept {
    Cell& cell = at(next_);
    const std::uint64_t turn = cell.turn.load(std::memory_order_acquire);
    if (turn != next_ + 1) {
      if (turn != turn_before(next_)) [[unlikely]]
        damage_ = "the turn of a cell is neither old nor new";
      return nullptr;
    }
    if (static_cast<std::uint32_t>(cell.from) >= shape_.producers ||
        ((cell.size & Cell::kRing) == 0 && cell.size > shape_.packet_bytes())) [[unlikely]]
      return refuse(cell);
    __builtin_prefetch(&at(next_ + 1));
    return &cell;
  }
  void pop() noexcept {
    ++next_;
    head_->taken.store(next_, std::memory_order_release);
  }
  // Consumer: nothing is here, and no producer has claimed a cell.
  bool is_empty() const noexcept {
    return damage_ != nullptr || head_->claimed.load(std::memory_order_acquire) == next_;
  }
  // Consumer: an impossible value that a producer wrote, for a message; null: none. A damaged inbox stays so.
  const char* damage() const noexcept { return damage_; }

  // Consumer, after `popped` pops: calls ring(producer) for each that waits for space. Checks once in a
  // quarter of a round only: a producer that waits has seen the ring full, so four quarters follow.
  template <class Ring>
  void notify_space(std::uint64_t popped, Ring ring) noexcept {
    if (next_ / shape_.quarter() != (next_ - popped) / shape_.quarter()) notify_all(ring);
  }
  template <class Ring>
  void notify_all(Ring ring) noexcept {
    if (head_->waiting.exchange(0, std::memory_order_acq_rel) == 0) return;
    for (std::size_t word = 0; word < shape_.words(); ++word) {
      std::uint64_t bits = waiting_bits()[word].exchange(0, std::memory_order_acq_rel);
      for (; bits != 0; bits &= bits - 1) {
        const auto producer =
            static_cast<std::uint32_t>(word * 64 + static_cast<std::size_t>(__builtin_ctzll(bits)));
        if (producer < shape_.producers)
          ring(producer);
        else
          damage_ = "a producer waits for space that does not exist";
      }
    }
  }
  void close() noexcept { head_->closed.store(1, std::memory_order_release); }

 private:
  Cell& at(std::uint64_t position) noexcept {
    return *reinterpret_cast<Cell*>(cells_ + (position & (shape_.cells - 1)) * shape_.cell_bytes);
  }
  // Of a cell that no producer has published in this round yet.
  std::uint64_t turn_before(std::uint64_t position) const noexcept {
    return position < shape_.cells ? 0 : position + 1 - shape_.cells;
  }
  Cell* refuse(const Cell& cell) noexcept;  // null
  std::atomic<std::uint64_t>* waiting_bits() noexcept {
    return reinterpret_cast<std::atomic<std::uint64_t>*>(reinterpret_cast<std::byte*>(head_) +
                                                         sizeof(InboxHead));
  }

  InboxHead* head_ = nullptr;
  std::byte* cells_ = nullptr;
  InboxShape shape_;
  Doorbell bell_;
  const char* damage_ = nullptr;
  std::uint64_t next_ = 0;  // consumer's position
  std::uint64_t seen_ = 0;  // producer's: what the consumer had taken when this producer last read it
};

}  // namespace herald::path
