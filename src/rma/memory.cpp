// SPDX-License-Identifier: BSD-3-Clause
#include "rma/memory.hpp"

#include <algorithm>
#include <iterator>

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

std::vector<Memory::Range>::iterator Memory::position_of(std::uintptr_t base) noexcept {
  return std::lower_bound(ranges_.begin(), ranges_.end(), base,
                          [](const Range& range, std::uintptr_t address) { return range.base < address; });
}

bool Memory::attach(const void* base, std::uint64_t bytes) noexcept {
  const auto begin = reinterpret_cast<std::uintptr_t>(base);
  const auto next = position_of(begin);
  if (next != ranges_.end() && next->base < begin + bytes) return false;
  if (next != ranges_.begin() && std::prev(next)->base + std::prev(next)->bytes > begin) return false;
  ranges_.insert(next, {begin, bytes});
  return true;
}

bool Memory::detach(const void* base) noexcept {
  const auto begin = reinterpret_cast<std::uintptr_t>(base);
  const auto found = position_of(begin);
  if (found == ranges_.end() || found->base != begin) return false;
  ranges_.erase(found);
  return true;
}

bool Memory::covers(std::uintptr_t begin, std::uintptr_t end) const noexcept {
  auto next =
      std::upper_bound(ranges_.begin(), ranges_.end(), begin,
                       [](std::uintptr_t address, const Range& range) { return address < range.base; });
  if (next == ranges_.begin()) return false;
  for (--next; next != ranges_.end() && next->base <= begin && begin < end; ++next)
    begin = std::max(begin, next->base + next->bytes);
  return begin >= end;
}

bool Memory::find(const type::Layout& layout, std::int64_t count, std::uint64_t offset,
                  type::Cursor& out) const noexcept {
  if (!dynamic_) {
    if (ranges_.empty() || !is_inside(layout, count, offset, ranges_[0].bytes)) return false;
    out = type::Cursor(layout, reinterpret_cast<void*>(ranges_[0].base + offset), count);
    return true;
  }
  if (!is_inside(layout, count, offset, INT64_MAX)) return false;
  const auto [low, high] = extent_of(layout, count);
  if (low != high &&
      !covers(offset + static_cast<std::uint64_t>(low), offset + static_cast<std::uint64_t>(high)))
    return false;
  out = type::Cursor(layout, reinterpret_cast<void*>(static_cast<std::uintptr_t>(offset)), count);
  return true;
}

}  // namespace herald::rma
