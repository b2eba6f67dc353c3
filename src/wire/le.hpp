// SPDX-License-Identifier: BSD-3-Clause
// wire/le.hpp: a number in a packet: little-endian, fixed width, no alignment.
#pragma once
#include <array>
#include <bit>
#include <cstddef>
#include <cstring>

namespace herald::wire {

// memcpy folds to one load or store on GCC and Clang.
template <class T>
class Le {
  static_assert(std::endian::native == std::endian::little, "give Le<T> a swap");

 public:
  Le() noexcept = default;
  Le(T value) noexcept { std::memcpy(raw_.data(), &value, sizeof value); }
  operator T() const noexcept {
    T value;
    std::memcpy(&value, raw_.data(), sizeof value);
    return value;
  }

 private:
  std::array<std::byte, sizeof(T)> raw_{};
};

}  // namespace herald::wire
