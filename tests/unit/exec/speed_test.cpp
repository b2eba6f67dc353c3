// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: ranks compare their speeds at different calls, and so choose different algorithms; one
// rank that found its data there makes a slow network seem fast; a slow first call makes a fast one seem slow
// for ever.
#include "exec/speed.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace herald::exec {
namespace {

constexpr std::uint64_t kMiB = 1 << 20;
constexpr std::uint64_t kSlow = 118'000'000, kFast = 900'000'000;  // bytes per second: 1 and 10 Gbit/s

TEST(Speed, ranks_compare_at_the_same_calls_whatever_they_measure) {
  Speed early, late;
  for (int call = 1; call <= 300; ++call)
    ASSERT_EQ(early.on_run(milliseconds(call), kMiB), late.on_run(microseconds(call), kMiB)) << call;
}

TEST(Speed, the_slowest_rank_of_a_call_counts) {
  Speed speed;
  speed.compare(std::vector{kFast, kSlow, kFast});
  EXPECT_FALSE(speed.is_fast());
  speed.compare(std::vector{kFast, kFast / 3, kFast});
  EXPECT_TRUE(speed.is_fast());
}

TEST(Speed, comparing_goes_on_until_a_call_was_fast) {
  Speed speed;
  int compared = 0;
  for (int call = 1; call <= 1000; ++call)
    if (speed.on_run(milliseconds(10), kMiB)) ++compared;
  EXPECT_EQ(compared, 9) << "calls 2, 4, 8 ... 512";
  EXPECT_EQ(speed.rate(), 104'857'600u);
  speed.compare(std::vector{kFast});
  for (int call = 1; call <= 5000; ++call) ASSERT_FALSE(speed.on_run(milliseconds(1), kMiB));
}

}  // namespace
}  // namespace herald::exec
