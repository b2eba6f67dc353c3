// SPDX-License-Identifier: BSD-3-Clause
// type/cursor.hpp: walks over the bytes of `count` items of a layout in user memory, in the order of the type
// map. It can be cut anywhere, inside an element too. Nothing is allocated: a cursor is a position, and each
// call descends the tree of the layout from there.
// Invariant: position() <= total(); bytes that are contiguous in memory need no layout (layout_ is null).
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "type/layout.hpp"

namespace herald::type {

// The same memory layout as struct iovec.
struct Run {
  void* data;
  std::size_t bytes;
};

class Cursor {
 public:
  Cursor() noexcept = default;
  // `base` may be null if the displacements are addresses (MPI_BOTTOM). layout.fits(count) must hold.
  Cursor(const Layout& layout, void* base, std::int64_t count) noexcept {
    base_ = reinterpret_cast<std::uintptr_t>(base);
    total_ = static_cast<std::uint64_t>(layout.size()) * static_cast<std::uint64_t>(count);
    if (layout.dense() || (layout.run() && count == 1)) {
      base_ += static_cast<std::uintptr_t>(layout.true_lb());
    } else if (total_ != 0) {
      layout_ = LayoutRef{&layout};
    }
  }
  Cursor(const LayoutRef& layout, void* base, std::int64_t count) noexcept : Cursor(*layout, base, count) {}

  // Plain contiguous memory.
  static Cursor bytes(void* data, std::size_t size) noexcept {
    Cursor cursor;
    cursor.base_ = reinterpret_cast<std::uintptr_t>(data);
    cursor.total_ = size;
    return cursor;
  }

  // Keep only the bytes [first, first + bytes) of the current ones; positions count from 0 again.
  void narrow(std::uint64_t first, std::uint64_t bytes) noexcept {
    first = std::min(first, total_);
    total_ = std::min(bytes, total_ - first);
    position_ = 0;
    if (layout_)
      first_ += first;
    else
      base_ += static_cast<std::uintptr_t>(first);
  }

  std::uint64_t total() const noexcept { return total_; }
  std::uint64_t position() const noexcept { return position_; }
  std::uint64_t remaining() const noexcept { return total_ - position_; }
  void seek(std::uint64_t position) noexcept { position_ = std::min(position, total_); }
  void skip(std::size_t count) noexcept { position_ += std::min<std::uint64_t>(count, remaining()); }

  // All of it is one run of memory; contiguous_at() is then the address of the byte at position().
  bool contiguous() const noexcept { return !layout_; }
  void* contiguous_at() const noexcept { return reinterpret_cast<void*>(base_ + position_); }

  // Fills `out` with the next runs, of at most max_bytes together, and moves past them. Returns how many runs
  // it filled; 0 only at the end or if `out` is empty. Adjacent runs are merged.
  std::size_t next_runs(std::span<Run> out, std::size_t max_bytes) noexcept {
    if (layout_) return next_runs_slow(out, max_bytes);
    const std::size_t length = clip(max_bytes);
    if (length == 0 || out.empty()) return 0;
    out[0] = Run{contiguous_at(), length};
    position_ += length;
    return 1;
  }

  // Copies the next bytes out of user memory to `to`, or from `from` into user memory. Returns how many.
  std::size_t pack(void* to, std::size_t max_bytes) noexcept {
    if (layout_) return pack_slow(to, max_bytes);
    const std::size_t length = clip(max_bytes);
    if (length != 0) std::memcpy(to, contiguous_at(), length);
    position_ += length;
    return length;
  }
  std::size_t unpack(const void* from, std::size_t max_bytes) noexcept {
    if (layout_) return unpack_slow(from, max_bytes);
    const std::size_t length = clip(max_bytes);
    if (length != 0) std::memcpy(contiguous_at(), from, length);
    position_ += length;
    return length;
  }

 private:
  std::size_t clip(std::size_t max_bytes) const noexcept {
    return static_cast<std::size_t>(std::min<std::uint64_t>(max_bytes, remaining()));
  }
  std::size_t next_runs_slow(std::span<Run> out, std::size_t max_bytes) noexcept;
  std::size_t pack_slow(void* to, std::size_t max_bytes) noexcept;
  std::size_t unpack_slow(const void* from, std::size_t max_bytes) noexcept;

  std::uintptr_t base_ = 0;
  std::uint64_t total_ = 0;
  std::uint64_t position_ = 0;
  std::uint64_t first_ = 0;  // bytes of the items that lie before position 0, if layout_ is set
  LayoutRef layout_;
};

static_assert(sizeof(Cursor) <= 40, "a cursor is part of every send and receive");

}  // namespace herald::type
