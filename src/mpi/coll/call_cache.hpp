// SPDX-License-Identifier: BSD-3-Clause
// mpi/coll/call_cache.hpp: the last blocking and nonblocking calls on a communicator, by their arguments. A
// repeated call goes straight to its plan; only its buffers are checked again. Filled once the agreement on a
// collective segment has ended, and not with HERALD_CHECK=collectives.
#pragma once
#include <array>
#include <cstdint>

#include "coll/cache.hpp"
#include "mpi/core/objects.hpp"

namespace herald::mpi {

struct CallKey {
  coll::Op op = coll::Op::barrier;
  bool in_place = false;
  int root = 0;
  MPI_Count count = 0;
  const Datatype* type = nullptr;
  const Op* reduction = nullptr;  // predefined: its address is never reused

  bool operator==(const CallKey&) const = default;
};

class CallCache {
 public:
  CallCache() = default;
  CallCache(const CallCache&) = delete;
  CallCache& operator=(const CallCache&) = delete;
  ~CallCache() { clear(); }

  // Null, or a plan with a count for the caller.
  coll::CachedPlan* find(const CallKey& call_key) noexcept {
    const Entry& entry = entries_[place(call_key)];
    if (entry.cached == nullptr || entry.call_key != call_key) return nullptr;
    // The address may belong to another datatype by now.
    if (call_key.type != nullptr &&
        (call_key.type->layout.get() != entry.layout.get() || !call_key.type->committed))
      return nullptr;
    coll::retain(entry.cached);
    return entry.cached;
  }
  void add(const CallKey& call_key, coll::CachedPlan* cached) noexcept;
  void clear() noexcept;
  void drop_trial(std::uint32_t trial) noexcept;  // its plans

 private:
  static constexpr std::size_t kEntries = 32;
  static std::size_t place(const CallKey& call_key) noexcept {
    return (static_cast<std::size_t>(call_key.op) * 5 + static_cast<std::size_t>(call_key.root)) % kEntries;
  }
  struct Entry {
    CallKey call_key;
    type::LayoutRef layout;
    coll::CachedPlan* cached = nullptr;
  };
  std::array<Entry, kEntries> entries_;
};

}  // namespace herald::mpi
