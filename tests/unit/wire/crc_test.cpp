// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: the checksums of two machines differ, because only one of them has the instructions,
// or at some length or alignment; the keyed hash is not SipHash-2-4.
#include <gtest/gtest.h>

#include <cstring>
#include <string_view>
#include <vector>

#include "base/prng.hpp"
#include "wire/crc32c.hpp"
#include "wire/datagram.hpp"

using namespace herald;
using namespace herald::wire;

namespace {

std::uint32_t bit_by_bit(std::span<const std::byte> bytes, std::uint32_t before) {
  std::uint32_t sum = ~before;
  for (const std::byte byte : bytes) {
    sum ^= std::to_integer<std::uint32_t>(byte);
    for (int bit = 0; bit < 8; ++bit) sum = (sum >> 1) ^ ((sum & 1) != 0 ? 0x82f63b78 : 0);
  }
  return ~sum;
}

std::vector<std::byte> random_bytes(std::size_t count, std::uint64_t seed) {
  Prng chance(seed);
  std::vector<std::byte> bytes(count);
  for (auto& byte : bytes) byte = static_cast<std::byte>(chance.next());
  return bytes;
}

}  // namespace

TEST(Crc32c, published_values) {
  const std::string_view digits = "123456789";
  EXPECT_EQ(crc32c(std::as_bytes(std::span(digits))), 0xe3069283u);
  EXPECT_EQ(crc32c({}), 0u);
  // RFC 3720, B.4: 32 bytes of 0, of 255, and 0 to 31.
  std::vector<std::byte> bytes(32);
  EXPECT_EQ(crc32c(bytes), 0x8a9136aau);
  std::fill(bytes.begin(), bytes.end(), std::byte{255});
  EXPECT_EQ(crc32c(bytes), 0x62a8ab43u);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i);
  EXPECT_EQ(crc32c(bytes), 0x46dd794eu);
}

TEST(Crc32c, all_implementations_agree_at_every_length_and_alignment) {
  const auto bytes = random_bytes(3400, 1);
  const std::span<const std::byte> all(bytes);
  for (std::size_t count = 0; count + 8 <= bytes.size(); count += count < 700 ? 1 : 61) {
    const auto piece = all.subspan(count % 8, count);
    const std::uint32_t right = bit_by_bit(piece, 0x1234);
    EXPECT_EQ(crc32c(piece, 0x1234), right) << count;
    EXPECT_EQ(crc32c_by_table(piece, 0x1234), right) << count;
    if (crc32c_is_wide()) {
      EXPECT_EQ(crc32c_wide(piece, 0x1234), right) << count;
    }
    if (crc32c_has_instructions()) {
      EXPECT_EQ(crc32c_by_instructions(piece, 0x1234), right) << count;
    }
  }
  const auto large = random_bytes(100003, 2);
  EXPECT_EQ(crc32c(large), bit_by_bit(large, 0));
  EXPECT_EQ(crc32c_by_table(large, 0), bit_by_bit(large, 0));
}

TEST(Crc32c, a_sum_continues_where_another_ended) {
  const auto bytes = random_bytes(5000, 3);
  const std::span<const std::byte> all(bytes);
  const std::uint32_t whole = crc32c(all);
  for (std::size_t cut : {0, 1, 7, 8, 95, 96, 1472, 3072, 4999, 5000})
    EXPECT_EQ(crc32c(all.subspan(cut), crc32c(all.first(cut))), whole) << cut;
}

TEST(SipHash, published_values) {
  // The reference's key 00 01 .. 0f and message 00 01 .. n-1.
  const JobKey key{0x0706050403020100, 0x0f0e0d0c0b0a0908};
  std::vector<std::byte> bytes(63);
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(i);
  const std::span<const std::byte> all(bytes);
  EXPECT_EQ(siphash24(key, {}), 0x726fdb47dd0e0e31u);
  EXPECT_EQ(siphash24(key, all.first(1)), 0x74f839c593dc67fdu);
  EXPECT_EQ(siphash24(key, all.first(8)), 0x93f5f5799a932462u);
  EXPECT_EQ(siphash24(key, all.first(15)), 0xa129ca6149be45e5u);
  EXPECT_EQ(siphash24(key, all), 0x958a324ceb064572u);
}
