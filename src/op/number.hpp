// SPDX-License-Identifier: BSD-3-Clause
// op/number.hpp: number types of the kernels that C++ lacks: half precision (computed in float, which
// rounds as half precision would, since float has more than twice its digits) and plain complex numbers.
#pragma once
#include <bit>
#include <cstdint>

#include "type/number.hpp"

namespace herald::op {

using type::Int128;
using type::Quad;
using type::Uint128;

inline float half_to_float(std::uint16_t half) noexcept {
  const std::uint32_t exponent = (half >> 10) & 31u;
  const std::uint32_t fraction = half & 0x3ffu;
  const std::uint32_t sign = (half & 0x8000u) << 16;
  const float tiny = static_cast<float>(fraction) * 0x1p-24f;
  const std::uint32_t normal = ((exponent + 112u) << 23) | (fraction << 13);
  const std::uint32_t special = 0x7f800000u | (fraction << 13);
  const std::uint32_t large = exponent == 31 ? special : normal;
  return std::bit_cast<float>((exponent == 0 ? std::bit_cast<std::uint32_t>(tiny) : large) | sign);
}

inline std::uint16_t float_to_half(float value) noexcept {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t magnitude = bits & 0x7fffffffu;
  const std::uint32_t rebased = magnitude - 0x38000000u;  // 127 - 15 off the exponent
  const std::uint32_t normal = (rebased + 0xfffu + ((rebased >> 13) & 1u)) >> 13;
  // Added to one half, a number below 2^-14 is rounded to a multiple of 2^-24, the smallest half.
  const std::uint32_t tiny = std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) -
                             std::bit_cast<std::uint32_t>(0.5f);
  const std::uint32_t nan = 0x7e00u | ((magnitude >> 13) & 0x3ffu);
  const std::uint32_t special = magnitude > 0x7f800000u ? nan : 0x7c00u;
  const std::uint32_t finite = magnitude < 0x38800000u ? tiny : normal;
  return static_cast<std::uint16_t>((magnitude >= 0x47800000u ? special : finite) | sign);
}

struct Half {
  std::uint16_t bits;
};

template <class T>
struct Complex {
  T re, im;
};

template <class V, class I>
struct Pair {
  V value;
  I index;
};

}  // namespace herald::op
