// SPDX-License-Identifier: BSD-3-Clause
#include "rma/memory.hpp"

#include <algorithm>

namespace herald::rma {

Extent extent_of(const type::Layout& layout, std::int64_t count) noexcept {
  if (count == 0 || layout.size() == 0) return {};
  const std::int64_t last = (count - 1) * layout.extent();
  return {layout.true_lb() + std::min<std::int64_t>(last, 0),
          layout.true_ub() + std::max<std::int64_t>(last, 0)};
}

bool is_inside(const type::Layout& layout, std::int64_t count, std::uint64_t offset,
               std::uint64_t bytes) noexcept {
  if (count < 0 || !layout.fits(count)) return false;
  const auto [low, high] = extent_of(layout, count);
  if (low == high) return true;
  std::int64_t begin = 0, end = 0;
  if (__builtin_add_overflow(static_cast<std::int64_t>(offset), low, &begin) ||
      __builtin_add_overflow(static_cast<std::int64_t>(offset), high, &end))
    return false;
  return begin >= 0 && static_cast<std::uint64_t>(end) <= bytes;
}

bool Memory::attach(const void* base, std::uint64_t bytes) noexcept {
  const auto begin = reinterpret_cast<std::uintptr_t>(base);
  const bool overlaps = std::any_of(ranges_.begin(), ranges_.end(), [&](const Range& range) {
    return begin < range.base + range.bytes && range.base < begin + bytes;
  });
  if (!overlaps) ranges_.push_back({begin, bytes});
  return !overlaps;
}

bool Memory::detach(const void* base) noexcept {
  const auto begin = reinterpret_cast<std::uintptr_t>(base);
  const auto found =
      std::find_if(ranges_.begin(), ranges_.end(), [&](const Range& range) { return range.base == begin; });
  if (found == ranges_.end()) return false;
  ranges_.erase(found);
  return true;
}

bool Memory::find(const type::Layout& layout, std::int64_t count, std::uint64_t offset,
                  type::Cursor& out) const noexcept {
  for (const Range& range : ranges_) {
    const std::uint64_t from_base = dynamic_ ? offset - range.base : offset;
    if (!is_inside(layout, count, from_base, range.bytes)) continue;
    out = type::Cursor(layout, reinterpret_cast<void*>(range.base + from_base), count);
    return true;
  }
  return false;
}

}  // namespace herald::rma
