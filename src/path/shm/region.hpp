// SPDX-License-Identifier: BSD-3-Clause
// path/shm/region.hpp: memory for messages (MPI_Alloc_mem) that the other processes of this host can map and
// then copy to and from without the kernel.
// A region is a file without a name (memfd). Its owner lists it in a table beside its inbox. A peer that
// receives an address in it opens the file through /proc and keeps it mapped until the table says that it is
// freed. Without a name a killed job leaves nothing behind. Where mapping fails, the caller copies by CMA.
// Invariant: a region is listed before its owner sends an address in it, and freed only when no message with
// such an address is under way (the program frees no buffer of a pending operation).
#pragma once
#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace herald::path {

struct RegionEntry {
  std::atomic<std::uint32_t> generation;  // odd: listed; changes whenever it is taken or freed
  std::int32_t fd;                        // in the owner
  std::uint64_t address;                  // there
  std::uint64_t bytes;
  std::uint64_t file;  // its inode number
};
static_assert(sizeof(RegionEntry) == 32);

constexpr std::uint32_t kRegions = 63;  // of one process

struct alignas(32) RegionTable {
  std::atomic<std::uint32_t> used;  // entries behind it were never used
  std::array<RegionEntry, kRegions> entries;
};
static_assert(sizeof(RegionTable) == 2048);

// The owner's side.
class Regions {
 public:
  Regions() noexcept = default;
  ~Regions();
  Regions(const Regions&) = delete;
  Regions& operator=(const Regions&) = delete;
  // `table`: in shared memory, zero at first; null: peers cannot read it any more.
  void open(RegionTable* table) noexcept { table_ = table; }
  // Zeroed, aligned to a page; null: not available.
  void* take(std::size_t bytes) noexcept;
  // False: not a region.
  bool give_back(void* memory) noexcept;

 private:
  struct Own {
    void* memory = nullptr;
    std::size_t bytes = 0;
    int fd = -1;
  };
  void drop(std::uint32_t index) noexcept;
  RegionTable* table_ = nullptr;
  std::array<Own, kRegions> own_;
};

// The regions of one peer that this process has mapped.
class PeerRegions {
 public:
  PeerRegions(pid_t pid, const RegionTable& table) noexcept : pid_(pid), table_(table) {}
  ~PeerRegions();
  PeerRegions(const PeerRegions&) = delete;
  PeerRegions& operator=(const PeerRegions&) = delete;
  // Where the peer's memory from `address` on, of that length, lies here; null: not in a region.
  std::byte* find(std::uint64_t address, std::size_t bytes) noexcept;

 private:
  struct View {
    std::uint32_t generation = 0;
    std::byte* base = nullptr;  // null: mapping failed
    std::size_t bytes = 0;
  };
  void map(View& view, const RegionEntry& entry, std::uint32_t generation) noexcept;
  static void unmap(View& view) noexcept;
  pid_t pid_;
  const RegionTable& table_;
  std::uint32_t last_ = 0;  // index of the last hit
  std::array<View, kRegions> views_;
};

}  // namespace herald::path
