// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: the sequence changes, and every recorded failing seed replays another case.
#include "base/prng.hpp"

#include <gtest/gtest.h>

namespace herald {
namespace {

TEST(Prng, golden_values) {
  Prng zero(0);
  EXPECT_EQ(zero.next(), 0xe220a8397b1dcdafu);
  EXPECT_EQ(zero.next(), 0x6e789e6aa1b965f4u);
  EXPECT_EQ(zero.next(), 0x06c45d188009454fu);
  Prng other(1234567);
  EXPECT_EQ(other.next(), 6457827717110365317u);
  EXPECT_EQ(other.next(), 3203168211198807973u);
  EXPECT_EQ(other.next(), 9817491932198370423u);
}

TEST(Prng, below_stays_below_and_reaches_all) {
  Prng prng(7);
  bool seen[10] = {};
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t n = prng.below(10);
    ASSERT_LT(n, 10u);
    seen[n] = true;
  }
  for (bool was : seen) EXPECT_TRUE(was);
  EXPECT_EQ(prng.below(1), 0u);
}

}  // namespace
}  // namespace herald
