// SPDX-License-Identifier: BSD-3-Clause
// path/shm/window_segment.hpp: the memory of a window that the ranks of one host share: a line of words for
// each rank, then the data of all ranks. Allocated in full when it is made, so that a full file system is an
// error, never a SIGBUS. It has a name only until all ranks have attached it.
#pragma once
#include <sys/types.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>

namespace herald::path {

// Of one rank. Ranks are named by their place: their order on this host.
struct alignas(64) WindowWords {
  std::atomic<std::uint32_t> lock;     // MPI_Win_lock: kExclusive | place of the holder, or how many share it
  std::atomic<std::uint32_t> waiting;  // how many ranks wait for `lock`
  std::atomic<std::uint32_t> guard;    // around updates of the data: 0, or 1 + place of the holder
  pid_t pid;

  static constexpr std::uint32_t kExclusive = std::uint32_t{1} << 31;
  bool try_lock(int place, bool exclusive) noexcept;
  // True: ranks wait for it.
  bool unlock() noexcept;
};
static_assert(sizeof(WindowWords) == 64 && std::atomic<std::uint32_t>::is_always_lock_free);

class WindowSegment {
 public:
  WindowSegment() noexcept = default;
  ~WindowSegment() { close(); }
  WindowSegment(const WindowSegment&) = delete;
  WindowSegment& operator=(const WindowSegment&) = delete;

  // False with `why` on failure.
  bool create(const std::string& path, int ranks, std::uint64_t data_bytes, std::uint64_t nonce,
              std::string& why) noexcept;
  bool attach(const std::string& path, int ranks, std::uint64_t data_bytes, std::uint64_t nonce) noexcept;
  void unlink() noexcept;
  void close() noexcept;
  bool is_open() const noexcept { return memory_ != nullptr; }

  WindowWords& words(int place) noexcept {
    return reinterpret_cast<WindowWords*>(memory_ + kHeaderBytes)[place];
  }
  std::byte* data() noexcept { return memory_ + data_at(ranks_); }

  // The holder of a rank's guard updates its data. A holder that has died loses it.
  void lock_guard(int of, int place) noexcept;
  void unlock_guard(int of) noexcept { words(of).guard.store(0, std::memory_order_release); }

 private:
  static constexpr std::size_t kHeaderBytes = 64, kPage = 4096;
  static std::size_t data_at(int ranks) noexcept {
    return (kHeaderBytes + static_cast<std::size_t>(ranks) * sizeof(WindowWords) + kPage - 1) / kPage * kPage;
  }
  bool map(int fd, int ranks, std::uint64_t data_bytes) noexcept;

  std::byte* memory_ = nullptr;
  std::size_t bytes_ = 0;
  int ranks_ = 0;
  int fd_ = -1;
  std::string path_;
};

}  // namespace herald::path
