// SPDX-License-Identifier: BSD-3-Clause
// CRC32C of rows of 256 bytes and more, four registers of 64 bytes in parallel. A block of 16 bytes may be
// shifted over the T bits behind it: its first half times x^(T + 32), its second half times x^(T - 32), both
// modulo the polynomial, is a block there with the same remainder (Gopal and others, "Fast CRC computation
// for generic polynomials using PCLMULQDQ instruction"). So all blocks are folded into the last one, of which
// the crc32 instruction computes the sum.
#include <cstring>

#include "wire/crc32c.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#define HERALD_CRC_WIDE [[gnu::target("sse4.2,avx512f,avx512vl,vpclmulqdq,pclmul")]]
#endif

namespace herald::wire {

#ifdef HERALD_CRC_WIDE
namespace {

constexpr std::size_t kBlock = 16, kRegister = 64, kRow = 4 * kRegister;

// x^n modulo the polynomial, reflected; one bit high, because a product of two reflected values lies one low.
constexpr std::uint64_t power(std::size_t n) noexcept {
  std::uint32_t value = 0x80000000;
  for (; n > 0; --n) value = (value >> 1) ^ ((value & 1) != 0 ? 0x82f63b78 : 0);
  return std::uint64_t{value} << 1;
}

// The multipliers that shift each block of a register over `Bytes`.
struct Move {
  std::uint64_t first, second;
};
template <std::size_t Bytes>
constexpr Move kMove{power(8 * Bytes + 32), power(8 * Bytes - 32)};

HERALD_CRC_WIDE inline __m512i spread(const Move& by) noexcept {
  return _mm512_set_epi64(static_cast<long long>(by.second), static_cast<long long>(by.first),
                          static_cast<long long>(by.second), static_cast<long long>(by.first),
                          static_cast<long long>(by.second), static_cast<long long>(by.first),
                          static_cast<long long>(by.second), static_cast<long long>(by.first));
}

HERALD_CRC_WIDE inline __m512i load(const std::byte* at) noexcept { return _mm512_loadu_si512(at); }

// The blocks of `moved`, shifted, added to those of the other register.
HERALD_CRC_WIDE inline __m512i fold(__m512i moved, __m512i by, __m512i there) noexcept {
  constexpr int kXorOfThree = 0x96;
  return _mm512_ternarylogic_epi64(_mm512_clmulepi64_epi128(moved, by, 0x00),
                                   _mm512_clmulepi64_epi128(moved, by, 0x11), there, kXorOfThree);
}

HERALD_CRC_WIDE inline __m128i fold(__m128i moved, const Move& by, __m128i there) noexcept {
  const __m128i both = _mm_set_epi64x(static_cast<long long>(by.second), static_cast<long long>(by.first));
  const __m128i first = _mm_clmulepi64_si128(moved, both, 0x00);
  return _mm_xor_si128(_mm_xor_si128(first, _mm_clmulepi64_si128(moved, both, 0x11)), there);
}

// Without a mask GCC 12 warns of its own header.
template <int Which>
HERALD_CRC_WIDE inline __m128i block_of(__m512i blocks) noexcept {
  return _mm512_maskz_extracti32x4_epi32(0xf, blocks, Which);
}

// The sum of a register's four blocks.
HERALD_CRC_WIDE inline std::uint32_t sum_of(__m512i blocks) noexcept {
  __m128i last = block_of<3>(blocks);
  last = fold(block_of<0>(blocks), kMove<3 * kBlock>, last);
  last = fold(block_of<1>(blocks), kMove<2 * kBlock>, last);
  last = fold(block_of<2>(blocks), kMove<kBlock>, last);
  const std::uint64_t half = _mm_crc32_u64(0, static_cast<std::uint64_t>(_mm_extract_epi64(last, 0)));
  return static_cast<std::uint32_t>(
      _mm_crc32_u64(half, static_cast<std::uint64_t>(_mm_extract_epi64(last, 1))));
}

}  // namespace

HERALD_CRC_WIDE
std::uint32_t crc32c_wide(std::span<const std::byte> bytes, std::uint32_t before) noexcept {
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  if (left < kRow) return crc32c_by_instructions(bytes, before);
  // The sum so far is added to the first four bytes.
  __m512i a =
      _mm512_xor_si512(load(at), _mm512_zextsi128_si512(_mm_cvtsi32_si128(static_cast<int>(~before))));
  __m512i b = load(at + kRegister), c = load(at + 2 * kRegister), d = load(at + 3 * kRegister);
  const __m512i over_row = spread(kMove<kRow>), over_one = spread(kMove<kRegister>);
  for (at += kRow, left -= kRow; left >= kRow; at += kRow, left -= kRow) {
    a = fold(a, over_row, load(at));
    b = fold(b, over_row, load(at + kRegister));
    c = fold(c, over_row, load(at + 2 * kRegister));
    d = fold(d, over_row, load(at + 3 * kRegister));
  }
  a = fold(a, over_one, b);
  c = fold(c, over_one, d);
  a = fold(a, spread(kMove<2 * kRegister>), c);
  for (; left >= kRegister; at += kRegister, left -= kRegister) a = fold(a, over_one, load(at));
  const std::uint32_t sum = ~sum_of(a);
  return left == 0 ? sum : crc32c_by_instructions({at, left}, sum);
}

bool crc32c_is_wide() noexcept {
  static const bool has = crc32c_has_instructions() && __builtin_cpu_supports("avx512f") != 0 &&
                          __builtin_cpu_supports("avx512vl") != 0 &&
                          __builtin_cpu_supports("vpclmulqdq") != 0;
  return has;
}

#else

std::uint32_t crc32c_wide(std::span<const std::byte> bytes, std::uint32_t before) noexcept {
  return crc32c_by_table(bytes, before);
}

bool crc32c_is_wide() noexcept { return false; }

#endif

}  // namespace herald::wire
