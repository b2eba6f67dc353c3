// SPDX-License-Identifier: BSD-3-Clause
// type/number.hpp: number types that C++ has no portable name for, and arithmetic that detects overflow.
#pragma once
#include <cstdint>

namespace herald::type {

__extension__ typedef __int128 Int128;
__extension__ typedef unsigned __int128 Uint128;
// IEEE binary128: a type of its own on x86-64, long double where that is binary128 already.
#if defined(__SIZEOF_FLOAT128__)
__extension__ typedef __float128 Quad;
#else
static_assert(__LDBL_MANT_DIG__ == 113, "no 128-bit floating point here");
typedef long double Quad;
#endif

// A sum of products in 64 bits that remembers whether it overflowed.
class Checked {
 public:
  constexpr Checked(std::int64_t value) noexcept : value_(value) {}  // NOLINT: meant to convert
  constexpr bool ok() const noexcept { return ok_; }
  constexpr std::int64_t value() const noexcept { return value_; }

  friend constexpr Checked operator+(Checked a, Checked b) noexcept {
    Checked r{0};
    r.ok_ = !__builtin_add_overflow(a.value_, b.value_, &r.value_) && a.ok_ && b.ok_;
    return r;
  }
  friend constexpr Checked operator-(Checked a, Checked b) noexcept {
    Checked r{0};
    r.ok_ = !__builtin_sub_overflow(a.value_, b.value_, &r.value_) && a.ok_ && b.ok_;
    return r;
  }
  friend constexpr Checked operator*(Checked a, Checked b) noexcept {
    Checked r{0};
    r.ok_ = !__builtin_mul_overflow(a.value_, b.value_, &r.value_) && a.ok_ && b.ok_;
    return r;
  }

 private:
  std::int64_t value_;
  bool ok_ = true;
};

}  // namespace herald::type
