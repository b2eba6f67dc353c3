// SPDX-License-Identifier: BSD-3-Clause
// mpi/coll_memo.hpp: the last few blocking and nonblocking calls on a communicator, by their arguments as
// they came: a call that was right before and comes again goes straight to its plan, unchecked but for its
// buffers. Only once it is settled whether the communicator has a board, and without extra checks.
#pragma once
#include <array>
#include <cstdint>

#include "coll/cache.hpp"
#include "mpi/objects.hpp"

namespace herald::mpi {

struct Memo {
  coll::Op op = coll::Op::barrier;
  bool in_place = false;
  int root = 0;
  MPI_Count count = 0;
  const Datatype* type = nullptr;
  const Op* reduction = nullptr;  // predefined: no other takes its place

  bool operator==(const Memo&) const = default;
};

class Memos {
 public:
  Memos() = default;
  Memos(const Memos&) = delete;
  Memos& operator=(const Memos&) = delete;
  ~Memos() { clear(); }

  // Null, or a plan with a count for the caller.
  coll::Kept* find(const Memo& memo) noexcept {
    const Entry& entry = entries_[place(memo)];
    if (entry.kept == nullptr || entry.memo != memo) return nullptr;
    // The type at this address may be another one by now.
    if (memo.type != nullptr && (memo.type->layout.get() != entry.layout.get() || !memo.type->committed))
      return nullptr;
    coll::retain(entry.kept);
    return entry.kept;
  }
  void add(const Memo& memo, coll::Kept* kept) noexcept;
  void clear() noexcept;

 private:
  static constexpr std::size_t kEntries = 32;
  static std::size_t place(const Memo& memo) noexcept {
    return (static_cast<std::size_t>(memo.op) * 5 + static_cast<std::size_t>(memo.root)) % kEntries;
  }
  struct Entry {
    Memo memo;
    type::LayoutRef layout;
    coll::Kept* kept = nullptr;
  };
  std::array<Entry, kEntries> entries_;
};

}  // namespace herald::mpi
