// SPDX-License-Identifier: BSD-3-Clause
// base/copy.hpp: copies without a call of memcpy where there are only a few bytes, as in most messages.
#pragma once
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace herald {

// Copies 4 to 16 bytes, which may overlap. False: there are fewer or more, and nothing was copied.
inline bool copy_few(void* to, const void* from, std::size_t bytes) noexcept {
  const auto copy = [&]<class Word>(Word first, Word last) {
    const std::size_t behind = bytes - sizeof(Word);
    std::memcpy(&first, from, sizeof first);
    std::memcpy(&last, static_cast<const std::byte*>(from) + behind, sizeof last);
    std::memcpy(to, &first, sizeof first);
    std::memcpy(static_cast<std::byte*>(to) + behind, &last, sizeof last);
  };
  if (bytes - 8 <= 8) {
    copy(std::uint64_t{}, std::uint64_t{});
    return true;
  }
  if (bytes - 4 > 4) return false;
  copy(std::uint32_t{}, std::uint32_t{});
  return true;
}

}  // namespace herald
