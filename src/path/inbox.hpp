// SPDX-License-Identifier: BSD-3-Clause
// path/inbox.hpp: where packets for one process arrive: a bounded ring of cells that many producers fill and
// one consumer empties, in any memory (private or shared), and the doorbell that the consumer sleeps on.
//
// Ring: positions are counted from the beginning of time. A producer claims the next one if it is less than a
// round ahead of what the consumer has taken, writes into its cell, and hands it over by setting the cell's
// turn to position + 1. The consumer writes to no cell: it counts what it has taken, and producers look at
// that count only when they seem to be a round ahead. A claimed cell that is not handed over yet holds up
// those behind it, so claim and publish follow each other closely.
//
// Doorbell: the consumer says that it is about to sleep, looks once more, and sleeps on a futex. A producer
// that has published looks whether anybody sleeps and only then makes a system call. Of the two, store and
// then look, one must see the other: both sides have a full barrier in between; or, where ranks have a
// processor each
// (`quick`), the consumer has the kernel run one on all processors when it is about to sleep (membarrier),
// and producers, of whom there are many more, need none. A consumer that waits for sockets too sleeps on a
// socket that stands for the doorbell (BellSocket) instead of the futex.
//
// Starving: a producer that found the ring full leaves its bit; the consumer takes the bits after it has
// given cells back and rings those producers' doorbells.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

namespace herald::path {

constexpr std::size_t kCacheLine = 64;

// Whether this process takes part in barriers that others have the kernel make; found out once.
extern const bool can_be_quick;

struct alignas(kCacheLine) Doorbell {
  std::atomic<std::uint32_t> rings;     // the futex
  std::atomic<std::uint32_t> sleeping;  // somebody sleeps or is about to: on the futex, or on the socket
  std::uint64_t name;                   // of the socket, by the consumer before anybody rings
  std::atomic<std::uint32_t> quick;     // the consumer makes the barrier for both sides

  static constexpr std::uint32_t kOnFutex = 1, kOnSocket = 2;

  // Consumer. Usage: v = before_sleep(); look once more; sleep(v, ...) or awake(). The count is read first:
  // who takes the flag that is set here counts afterwards, so sleep() then returns at once.
  std::uint32_t before_sleep(std::uint32_t where = kOnFutex) noexcept {
    const std::uint32_t seen = rings.load(std::memory_order_seq_cst);
    sleeping.store(where, std::memory_order_seq_cst);
    if (quick.load(std::memory_order_relaxed) != 0) barrier_for_all();
    return seen;
  }
  // Consumer, before it sleeps for the first time: barriers are ours from here on, if the kernel helps.
  void be_quick() noexcept;
  void be_careful() noexcept;  // the opposite: from here on somebody sleeps often
  void sleep(std::uint32_t seen, std::int64_t timeout_ns) noexcept;
  void awake() noexcept { sleeping.store(0, std::memory_order_relaxed); }

  // Producer, after what the consumer is to see.
  void ring_if_asleep() noexcept {
    if (quick.load(std::memory_order_relaxed) != 0 && can_be_quick)
      std::atomic_signal_fence(std::memory_order_seq_cst);
    else
      std::atomic_thread_fence(std::memory_order_seq_cst);
    if (sleeping.load(std::memory_order_relaxed) != 0) ring();
  }
  void ring() noexcept;

 private:
  static void barrier_for_all() noexcept;
};

// The consumer's end of a doorbell that rings a socket: readable when somebody rang. Abstract name, no file.
class BellSocket {
 public:
  BellSocket() noexcept = default;
  ~BellSocket() { close(); }
  BellSocket(const BellSocket&) = delete;
  BellSocket& operator=(const BellSocket&) = delete;
  bool open(Doorbell& bell, std::uint64_t name) noexcept;
  void close() noexcept;
  int descriptor() const noexcept { return fd_; }
  void drain() noexcept;  // what rang is heard

 private:
  int fd_ = -1;
};

struct alignas(kCacheLine) InboxHead {
  alignas(kCacheLine) std::atomic<std::uint64_t> claimed;   // next position, by producers
  alignas(kCacheLine) std::atomic<std::uint64_t> taken;     // next position, by the consumer
  alignas(kCacheLine) std::atomic<std::uint32_t> starving;  // some bit of the starved words is set
  std::atomic<std::uint32_t> closed;                        // the consumer has left for good
  Doorbell bell;
};

struct Cell {
  std::atomic<std::uint64_t> turn;
  std::int32_t from;
  std::uint32_t
      size;  // of the packet; or kRing and a number: what follows from this producer comes in that ring
  static constexpr std::uint32_t kRing = 1u << 31;
  std::byte* packet() noexcept { return reinterpret_cast<std::byte*>(this + 1); }
  const std::byte* packet() const noexcept { return reinterpret_cast<const std::byte*>(this + 1); }
};
static_assert(sizeof(Cell) == 16);
static_assert(std::atomic<std::uint64_t>::is_always_lock_free &&
              std::atomic<std::uint32_t>::is_always_lock_free);

// The measures of an inbox and where its parts lie.
struct InboxShape {
  std::uint32_t cells = 0;       // a power of two
  std::uint32_t cell_bytes = 0;  // a multiple of the cache line
  std::uint32_t producers = 0;   // ids 0 .. producers - 1

  static constexpr std::uint32_t kMostCells = 1u << 16;
  static constexpr std::uint32_t kMostCellBytes = 1u << 21;
  // Rounds what a user asked for up to what the ring can do.
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
  // Once, by the owner, before anybody else looks; the memory is zero.
  void create() noexcept;

  const InboxShape& shape() const noexcept { return shape_; }
  std::size_t packet_bytes() const noexcept { return shape_.packet_bytes(); }
  Doorbell& bell() noexcept { return head_->bell; }
  bool is_open() const noexcept { return head_ != nullptr; }

  // Producer: null when full. Every claimed cell must be published.
  Cell* claim(std::uint64_t& position) noexcept;
  void publish(Cell& cell, std::uint64_t position, std::int32_t from, std::uint32_t size) noexcept {
    cell.from = from;
    cell.size = size;
    cell.turn.store(position + 1, std::memory_order_release);
  }
  // Producer: ask to be rung when there is room. Try to claim once more after this, then sleep.
  void starve(std::uint32_t producer) noexcept;
  bool is_closed() const noexcept { return head_->closed.load(std::memory_order_acquire) != 0; }

  // Consumer: the next packet, null if there is none.
  Cell* front() noexcept {
    Cell& cell = at(next_);
    if (cell.turn.load(std::memory_order_acquire) != next_ + 1) return nullptr;
    __builtin_prefetch(&at(next_ + 1));
    return &cell;
  }
  void pop() noexcept {
    ++next_;
    head_->taken.store(next_, std::memory_order_release);
  }
  // Consumer: nothing is here, and nobody is about to hand anything over.
  bool is_empty() const noexcept { return head_->claimed.load(std::memory_order_acquire) == next_; }
  // Consumer, after `popped` pops: calls ring(producer) for each that starved. Looks once in a quarter of a
  // round only: who starves has seen the ring full, so there are four quarters to come.
  template <class Ring>
  void feed(std::uint64_t popped, Ring ring) noexcept {
    if (next_ / shape_.quarter() != (next_ - popped) / shape_.quarter()) feed_all(ring);
  }
  template <class Ring>
  void feed_all(Ring ring) noexcept {
    if (head_->starving.exchange(0, std::memory_order_acq_rel) == 0) return;
    for (std::size_t word = 0; word < shape_.words(); ++word) {
      std::uint64_t bits = starved()[word].exchange(0, std::memory_order_acq_rel);
      for (; bits != 0; bits &= bits - 1)
        ring(static_cast<std::uint32_t>(word * 64 + static_cast<std::size_t>(__builtin_ctzll(bits))));
    }
  }
  void close() noexcept { head_->closed.store(1, std::memory_order_release); }

 private:
  Cell& at(std::uint64_t position) noexcept {
    return *reinterpret_cast<Cell*>(cells_ + (position & (shape_.cells - 1)) * shape_.cell_bytes);
  }
  std::atomic<std::uint64_t>* starved() noexcept {
    return reinterpret_cast<std::atomic<std::uint64_t>*>(reinterpret_cast<std::byte*>(head_) +
                                                         sizeof(InboxHead));
  }

  InboxHead* head_ = nullptr;
  std::byte* cells_ = nullptr;
  InboxShape shape_;
  std::uint64_t next_ = 0;  // consumer's position
  std::uint64_t seen_ = 0;  // producer's: what the consumer had taken when we last looked
};

}  // namespace herald::path
