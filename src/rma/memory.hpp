// SPDX-License-Identifier: BSD-3-Clause
// rma/memory.hpp: the memory that a rank exposes in a window: one range, or those attached to a dynamic
// window. Every access of another rank is checked here.
#pragma once
#include <cstdint>
#include <vector>

#include "type/cursor.hpp"

namespace herald::rma {

// Where the data of `count` items lies, relative to the first item. layout.fits(count) must hold.
struct Extent {
  std::int64_t low = 0, high = 0;
};
Extent extent_of(const type::Layout& layout, std::int64_t count) noexcept;
// Whether `count` items at `offset` lie in `bytes` bytes.
bool is_inside(const type::Layout& layout, std::int64_t count, std::uint64_t offset,
               std::uint64_t bytes) noexcept;

class Memory {
 public:
  void set(void* base, std::uint64_t bytes) noexcept {
    ranges_ = {{reinterpret_cast<std::uintptr_t>(base), bytes}};
  }
  // A dynamic window: offsets are addresses, and adjacent ranges are one. False: it overlaps a range, or is
  // not attached.
  void set_dynamic() noexcept { dynamic_ = true; }
  bool attach(const void* base, std::uint64_t bytes) noexcept;
  bool detach(const void* base) noexcept;

  // The bytes of `count` items at `offset`. False: not all of them are exposed.
  bool find(const type::Layout& layout, std::int64_t count, std::uint64_t offset,
            type::Cursor& out) const noexcept;

 private:
  struct Range {
    std::uintptr_t base;
    std::uint64_t bytes;
  };
  bool covers(std::uintptr_t begin, std::uintptr_t end) const noexcept;
  std::vector<Range>::iterator position_of(
      std::uintptr_t base) noexcept;  // the first that begins there or later

  std::vector<Range> ranges_;  // by address
  bool dynamic_ = false;
};

}  // namespace herald::rma
