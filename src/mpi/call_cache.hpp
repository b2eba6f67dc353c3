// SPDX-License-Identifier: BSD-3-Clause
// mpi/call_cache.hpp: the last few blocking and nonblocking calls on a communicator, by their arguments as
// they came: a call that was right before and comes again goes straight to its plan, unchecked but for its
// buffers. Only once it is settled whether the communicator has a collective segment, and without extra
// checks.
#pragma once
#include <array>
#include <cstdint>

#include "coll/cache.hpp"
#include "mpi/objects.hpp"

namespace herald::mpi {

struct CallKey {
  coll::Op op = coll::Op::barrier;
  bool in_place = false;
  int root = 0;
  MPI_Count count = 0;
  const Datatype* type = nullptr;
  const Op* reduction = nullptr;  // predefined: no other takes its place

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
    // The type at this address may be another one by now.
    if (call_key.type != nullptr &&
        (call_key.type->layout.get() != entry.layout.get() || !call_key.type->committed))
      return nullptr;
    coll::retain(entry.cached);
    return entry.cached;
  }
  void add(const CallKey& call_key, coll::CachedPlan* cached) noexcept;
  void clear() noexcept;

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
