// SPDX-License-Identifier: BSD-3-Clause
// mpi/p2p/part_table.hpp: finds a partitioned request by its handle, without the engine's lock: MPI_Pready is
// called by many threads at once.
// Entries are set and cleared with the lock. The program does not free a request that a thread still uses, so
// an entry that is found stays.
#pragma once
#include <array>
#include <atomic>
#include <cstdint>

#include "mpi/core/request.hpp"

namespace herald::mpi {

template <class Part>
class PartTable {
 public:
  struct Entry {
    std::atomic<std::uint32_t> handle{0};
    std::atomic<Part*> part{nullptr};  // null: to or from MPI_PROC_NULL
  };

  void set(std::uint32_t handle, Part* part) noexcept {
    std::atomic<Block*>& block = blocks_[slot_of(handle) / kBlock];
    if (block.load(std::memory_order_relaxed) == nullptr) block.store(new Block, std::memory_order_release);
    Entry& entry = entry_of(handle);
    entry.part.store(part, std::memory_order_relaxed);
    entry.handle.store(handle, std::memory_order_release);
  }
  void clear(std::uint32_t handle) noexcept { entry_of(handle).handle.store(0, std::memory_order_release); }

  // Null: the handle is no such request.
  const Entry* find(MPI_Request request) const noexcept {
    const auto value = reinterpret_cast<std::uintptr_t>(request);
    if (value == 0 || value >> 31 != 0) return nullptr;
    const std::uint32_t slot = slot_of(static_cast<std::uint32_t>(value));
    Block* const block = blocks_[slot / kBlock].load(std::memory_order_acquire);
    if (block == nullptr) return nullptr;
    const Entry& entry = (*block)[slot % kBlock];
    return entry.handle.load(std::memory_order_acquire) == value ? &entry : nullptr;
  }

 private:
  static constexpr std::uint32_t kBlock = 1024;
  static constexpr std::uint32_t kSlots = 1u << HandleTable<Request>::kIndexBits;
  using Block = std::array<Entry, kBlock>;
  static std::uint32_t slot_of(std::uint32_t handle) noexcept { return handle & (kSlots - 1); }
  Entry& entry_of(std::uint32_t handle) noexcept {
    const std::uint32_t slot = slot_of(handle);
    return (*blocks_[slot / kBlock].load(std::memory_order_relaxed))[slot % kBlock];
  }

  std::array<std::atomic<Block*>, kSlots / kBlock> blocks_{};  // made on first use, never freed
};

}  // namespace herald::mpi
