// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a length at the edge of what copy_few() takes is cut, runs over the end, or is copied
// wrongly where the two places overlap.
#include "base/copy.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <numeric>

namespace herald {
namespace {

std::array<unsigned char, 64> numbered() {
  std::array<unsigned char, 64> bytes{};
  std::iota(bytes.begin(), bytes.end(), static_cast<unsigned char>(1));
  return bytes;
}

TEST(Copy, takes_four_to_sixteen_bytes_and_no_others) {
  for (std::size_t bytes = 0; bytes <= 20; ++bytes) {
    const auto from = numbered();
    std::array<unsigned char, 64> to{}, expected{};
    const bool few = bytes >= 4 && bytes <= 16;
    if (few) std::copy_n(from.begin(), bytes, expected.begin());
    EXPECT_EQ(copy_few(to.data(), from.data(), bytes), few) << bytes;
    EXPECT_EQ(to, expected) << bytes;
  }
}

TEST(Copy, places_may_overlap) {
  for (std::size_t bytes = 4; bytes <= 16; ++bytes)
    for (std::size_t at = 0; at <= 32; ++at) {
      auto memory = numbered(), expected = numbered();
      std::copy_n(numbered().begin() + 16, bytes, expected.begin() + static_cast<std::ptrdiff_t>(at));
      EXPECT_TRUE(copy_few(memory.data() + at, memory.data() + 16, bytes));
      EXPECT_EQ(memory, expected) << bytes << " bytes to " << at;
    }
}

}  // namespace
}  // namespace herald
