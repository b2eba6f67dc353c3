// SPDX-License-Identifier: BSD-3-Clause
// CRC32C (Castagnoli, reflected polynomial 0x82f63b78). The instruction takes 8 bytes per cycle with a
// latency of three, so three adjacent rows are summed in parallel. To combine them, the sum of a row is
// shifted over the bytes of the rows behind it: multiplied by a power of x modulo the polynomial, by a
// carry-less multiplication and one more crc32 instruction.
#include "wire/crc32c.hpp"

#include <array>
#include <cstring>

#include "wire/datagram.hpp"

#if defined(__x86_64__)
#include <nmmintrin.h>
#include <wmmintrin.h>
#define HERALD_CRC_INSTRUCTIONS [[gnu::target("sse4.2,pclmul")]]
// Clang accepts these intrinsics only if the whole file is compiled for them.
#elif defined(__aarch64__) && defined(__linux__) && \
    (!defined(__clang__) || (defined(__ARM_FEATURE_CRC32) && defined(__ARM_FEATURE_AES)))
#include <arm_acle.h>
#include <arm_neon.h>
#include <sys/auxv.h>
#define HERALD_CRC_INSTRUCTIONS [[gnu::target("+crc+crypto")]]
#endif

namespace herald::wire {
namespace {

constexpr std::uint32_t kPolynomial = 0x82f63b78;

constexpr std::uint32_t times_x(std::uint32_t value) noexcept {
  return (value >> 1) ^ ((value & 1) != 0 ? kPolynomial : 0);
}

constexpr std::size_t kSlices = 8;
using Tables = std::array<std::array<std::uint32_t, 256>, kSlices>;

constexpr Tables make_tables() noexcept {
  Tables tables{};
  for (std::uint32_t byte = 0; byte < 256; ++byte) {
    std::uint32_t value = byte;
    for (int bit = 0; bit < 8; ++bit) value = times_x(value);
    tables[0][byte] = value;
  }
  for (std::size_t slice = 1; slice < kSlices; ++slice)
    for (std::size_t byte = 0; byte < 256; ++byte) {
      const std::uint32_t value = tables[slice - 1][byte];
      tables[slice][byte] = (value >> 8) ^ tables[0][value & 0xff];
    }
  return tables;
}

constexpr Tables kTables = make_tables();

constexpr std::size_t kWorthWide = 512;  // bytes

std::uint64_t load64(const std::byte* at) noexcept {
  std::uint64_t value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

}  // namespace

std::uint32_t crc32c_by_table(std::span<const std::byte> bytes, std::uint32_t before) noexcept {
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  std::uint32_t sum = ~before;
  for (; left >= 8; at += 8, left -= 8) {
    const std::uint64_t word = load64(at) ^ sum;
    sum = 0;
    for (std::size_t i = 0; i < kSlices; ++i) sum ^= kTables[kSlices - 1 - i][(word >> (8 * i)) & 0xff];
  }
  for (; left > 0; ++at, --left)
    sum = (sum >> 8) ^ kTables[0][(sum ^ std::to_integer<std::uint32_t>(*at)) & 0xff];
  return ~sum;
}

#ifdef HERALD_CRC_INSTRUCTIONS
namespace {

constexpr std::size_t kRowWords = 128;  // longest row, in words of 8 bytes: 3 KiB at once
constexpr std::size_t kLine = 64;       // bytes of a cache line
constexpr std::size_t kFewBytes = 96;   // below this, combining rows costs more than it saves
using Powers = std::array<std::uint32_t, 2 * kRowWords>;

// [i]: shifts a sum over 8 (i + 1) bytes: x to the power of 64 (i + 1) - 33. The product of two reflected
// 32-bit values lies one bit low in 64 (x^1), and the instruction multiplies its operand by x^32.
constexpr Powers make_powers() noexcept {
  Powers powers{};
  std::uint32_t value = 1;  // x^31
  for (std::uint32_t& power : powers) {
    power = value;
    for (int bit = 0; bit < 64; ++bit) value = times_x(value);
  }
  return powers;
}

constexpr Powers kPowers = make_powers();

#if defined(__x86_64__)
HERALD_CRC_INSTRUCTIONS inline std::uint64_t step64(std::uint64_t sum, std::uint64_t word) noexcept {
  return _mm_crc32_u64(sum, word);
}
HERALD_CRC_INSTRUCTIONS inline std::uint32_t step8(std::uint32_t sum, std::uint8_t byte) noexcept {
  return _mm_crc32_u8(sum, byte);
}
HERALD_CRC_INSTRUCTIONS inline std::uint64_t multiply(std::uint64_t a, std::uint32_t b) noexcept {
  const __m128i product = _mm_clmulepi64_si128(_mm_cvtsi64_si128(static_cast<long long>(a)),
                                               _mm_cvtsi32_si128(static_cast<int>(b)), 0);
  return static_cast<std::uint64_t>(_mm_cvtsi128_si64(product));
}
#else
HERALD_CRC_INSTRUCTIONS inline std::uint64_t step64(std::uint64_t sum, std::uint64_t word) noexcept {
  return __crc32cd(static_cast<std::uint32_t>(sum), word);
}
HERALD_CRC_INSTRUCTIONS inline std::uint32_t step8(std::uint32_t sum, std::uint8_t byte) noexcept {
  return __crc32cb(sum, byte);
}
HERALD_CRC_INSTRUCTIONS inline std::uint64_t multiply(std::uint64_t a, std::uint32_t b) noexcept {
  return static_cast<std::uint64_t>(vmull_p64(a, b));
}
#endif

// Three rows of `words` words each. `Ahead`: the rows behind them are fetched meanwhile: processors do not
// foresee three short streams, and long data that no cache holds would come at half the speed.
template <bool Ahead>
HERALD_CRC_INSTRUCTIONS inline std::uint64_t three_rows(const std::byte* at, std::size_t words,
                                                        std::uint64_t sum) noexcept {
  const std::byte* second = at + 8 * words;
  const std::byte* third = second + 8 * words;
  std::uint64_t a = sum, b = 0, c = 0;
  for (std::size_t i = 0; i < 8 * words; i += 8) {
    if (Ahead && i % kLine == 0)
      for (const std::byte* row : {at, second, third}) __builtin_prefetch(row + 24 * words + i);
    a = step64(a, load64(at + i));
    b = step64(b, load64(second + i));
    c = step64(c, load64(third + i));
  }
  return c ^ step64(0, multiply(a, kPowers[2 * words - 1]) ^ multiply(b, kPowers[words - 1]));
}

}  // namespace

HERALD_CRC_INSTRUCTIONS
std::uint32_t crc32c_by_instructions(std::span<const std::byte> bytes, std::uint32_t before) noexcept {
  const std::byte* at = bytes.data();
  std::size_t left = bytes.size();
  std::uint64_t sum = static_cast<std::uint32_t>(~before);
  while (left >= kFewBytes) {
    const std::size_t words = left / 24 < kRowWords ? left / 24 : kRowWords;
    sum = left >= 48 * kRowWords ? three_rows<true>(at, words, sum) : three_rows<false>(at, words, sum);
    at += 24 * words;
    left -= 24 * words;
  }
  for (; left >= 8; at += 8, left -= 8) sum = step64(sum, load64(at));
  auto last = static_cast<std::uint32_t>(sum);
  for (; left > 0; ++at, --left) last = step8(last, std::to_integer<std::uint8_t>(*at));
  return ~last;
}

bool crc32c_has_instructions() noexcept {
#if defined(__SSE4_2__) && defined(__PCLMUL__)
  return true;
#elif defined(__x86_64__)
  return __builtin_cpu_supports("sse4.2") != 0 && __builtin_cpu_supports("pclmul") != 0;
#else
  constexpr unsigned long kPmull = 1 << 4, kCrc32 = 1 << 7;  // HWCAP_PMULL, HWCAP_CRC32
  static const bool both = (getauxval(AT_HWCAP) & (kPmull | kCrc32)) == (kPmull | kCrc32);
  return both;
#endif
}

#else

std::uint32_t crc32c_by_instructions(std::span<const std::byte> bytes, std::uint32_t before) noexcept {
  return crc32c_by_table(bytes, before);
}

bool crc32c_has_instructions() noexcept { return false; }

#endif

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before) noexcept {
  if (bytes.size() >= kWorthWide && crc32c_is_wide()) return crc32c_wide(bytes, before);
  return crc32c_has_instructions() ? crc32c_by_instructions(bytes, before) : crc32c_by_table(bytes, before);
}

}  // namespace herald::wire
