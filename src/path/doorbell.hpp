// SPDX-License-Identifier: BSD-3-Clause
// path/doorbell.hpp: how the consumer of an inbox sleeps and how producers wake it.
//
// The consumer announces that it is about to sleep, checks for packets once more, and sleeps on a futex. A
// consumer that waits for sockets too sleeps on a descriptor instead: a FIFO, or an eventfd within a process.
// A producer that has published a packet checks for a sleeper and only then makes a system call.
// Each side stores and then loads, so each needs a full barrier in between. With `membarrier` set, the
// consumer has the kernel run the barrier on all processors before it sleeps, and producers need none.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace herald::path {

constexpr std::size_t kCacheLine = 64;

// Whether this process takes part in barriers that other processes request; determined once.
extern const bool has_membarrier;

// The part in memory that producers and consumer share.
struct alignas(kCacheLine) DoorbellWords {
  std::atomic<std::uint32_t> rings;       // the futex
  std::atomic<std::uint32_t> sleeping;    // 0, Doorbell::kOnFutex or Doorbell::kOnDescriptor
  std::atomic<std::uint32_t> membarrier;  // the consumer runs the barrier for both sides
  std::atomic<std::uint32_t> missed;      // a producer had no descriptor to ring by
  // The descriptor of the consumer, for producers that did not open it at first; process 0: it has none.
  std::int32_t process, descriptor;
  std::uint64_t device, inode;
};

// One process's view of a doorbell. Owns neither the memory nor the descriptor.
class Doorbell {
 public:
  static constexpr std::uint32_t kOnFutex = 1, kOnDescriptor = 2;

  Doorbell() noexcept = default;
  explicit Doorbell(DoorbellWords& words) noexcept : words_(&words) {}

  // Both sides: what wakes a consumer that sleeps on a descriptor. -1: nothing.
  void set_descriptor(int fd) noexcept { fd_ = fd; }
  // Consumer: the same, and producers of this user may find it in /proc. The owner of the producer's view
  // closes what ring() has opened so.
  void publish_descriptor(int fd) noexcept;
  int descriptor() const noexcept { return fd_; }

  // Consumer. Usage: v = before_sleep(); check once more; sleep(v, ...) or awake(). The count is read first:
  // a producer that clears the flag set here increments it afterwards, so that sleep() returns immediately.
  std::uint32_t before_sleep(std::uint32_t where = kOnFutex) noexcept {
    const std::uint32_t seen = rings();
    mark_sleeping(where);
    if (words_->membarrier.load(std::memory_order_relaxed) != 0) run_membarrier();
    return seen;
  }
  void mark_sleeping(std::uint32_t where) noexcept {
    words_->sleeping.store(where, std::memory_order_seq_cst);
  }
  void sleep(std::uint32_t seen, std::int64_t timeout_ns) noexcept;
  void awake() noexcept { words_->sleeping.store(0, std::memory_order_relaxed); }
  void drain() noexcept;  // the descriptor is not readable until the next ring
  std::uint32_t rings() const noexcept { return words_->rings.load(std::memory_order_seq_cst); }

  // Consumer: some producer cannot wake it from its descriptor, so it must not sleep long.
  bool is_missed() const noexcept { return words_->missed.load(std::memory_order_relaxed) != 0; }

  // Consumer: runs the barrier for both sides from here on, if the kernel can; or no longer.
  void use_membarrier() noexcept;
  void use_fences() noexcept;

  // Producer, after it has published.
  void ring_if_asleep() noexcept {
    if (words_->membarrier.load(std::memory_order_relaxed) != 0 && has_membarrier)
      std::atomic_signal_fence(std::memory_order_seq_cst);
    else
      std::atomic_thread_fence(std::memory_order_seq_cst);
    if (words_->sleeping.load(std::memory_order_relaxed) != 0) ring();
  }
  void ring() noexcept;

 private:
  static void run_membarrier() noexcept;
  bool find_descriptor() noexcept;
  bool write_descriptor() noexcept;

  DoorbellWords* words_ = nullptr;
  int fd_ = -1;
};

// A doorbell between threads of one process.
class LocalDoorbell : public Doorbell {
 public:
  LocalDoorbell() noexcept : Doorbell(own_) {}
  LocalDoorbell(const LocalDoorbell&) = delete;
  LocalDoorbell& operator=(const LocalDoorbell&) = delete;

 private:
  DoorbellWords own_{};
};

// An eventfd for a doorbell that only threads of this process ring.
class BellEvent {
 public:
  BellEvent() noexcept = default;
  ~BellEvent();
  BellEvent(const BellEvent&) = delete;
  BellEvent& operator=(const BellEvent&) = delete;
  // False and errno: the system gives none.
  bool open(Doorbell& bell) noexcept;

 private:
  int fd_ = -1;
};

}  // namespace herald::path
