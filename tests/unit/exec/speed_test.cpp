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

using Rates = std::vector<Speed::Rates>;

TEST(Speed, the_slowest_rank_of_a_call_counts) {
  Speed speed;
  speed.compare(Rates{{kFast}, {kSlow}, {kFast}});
  EXPECT_FALSE(speed.is_fast());
  speed.compare(Rates{{kFast}, {kFast / 3}, {kFast}});
  EXPECT_TRUE(speed.is_fast());
}

TEST(Speed, what_one_rank_has_proven_suffices) {
  Speed speed;
  speed.compare(Rates{{kSlow, 0}, {0, kSlow}, {kSlow, kSlow}});
  EXPECT_FALSE(speed.is_fast());
  speed.compare(Rates{{0, 0}, {0, kFast}, {0, kSlow}});
  EXPECT_TRUE(speed.is_fast());
}

TEST(Speed, interfaces_tell_where_busy_processors_delay_acks) {
  Speed speed;
  speed.compare(Rates{{0, kSlow / 2, kFast}, {0, 0, kSlow}});
  EXPECT_FALSE(speed.is_fast()) << "one rank has a slow interface";
  speed.compare(Rates{{0, kSlow / 10, kFast}, {0, 0, kFast}});
  EXPECT_FALSE(speed.is_fast()) << "a switch may be slow";
  speed.compare(Rates{{0, kSlow / 2, kFast}, {0, 0, kFast}, {}});
  EXPECT_TRUE(speed.is_fast());
}

// What could go wrong: algorithms for a fast network are used on a slow one, or are chosen anew again and
// again.
TEST(Speed, links_have_the_rate_that_casts_have_proven) {
  Speed speed;
  EXPECT_EQ(speed.link_rate(), 0u);
  speed.compare(Rates{{0, kSlow}, {0, kSlow / 2}});
  EXPECT_EQ(speed.link_rate(), 1u << 27);
  for (std::uint64_t more = kSlow; more < kSlow + kSlow / 4; more += 1'000'000) {
    speed.compare(Rates{{0, more}, {}});
    EXPECT_EQ(speed.link_rate(), 1u << 27);
  }
  speed.compare(Rates{{0, 1000}, {}});
  EXPECT_EQ(speed.link_rate(), 1u << 23) << "no link is so slow";
  speed.compare(Rates{{}, {}});
  EXPECT_EQ(speed.link_rate(), 0u);
  speed.compare(Rates{{0, kFast}, {0, kFast}});
  EXPECT_EQ(speed.link_rate(), 0u) << "the usual costs are those of fast links";
}

TEST(Speed, a_short_call_tells_nothing) {
  Speed speed;
  (void)speed.on_run(microseconds(1), kMiB);
  EXPECT_EQ(speed.rate(), 0u);
}

TEST(Speed, a_few_casts_are_made_to_measure) {
  Speed speed;
  std::vector<std::uint64_t> probes;
  for (int call = 1; call <= 1000; ++call) {
    if (!speed.on_run(milliseconds(100), 4 * kMiB)) continue;
    if (const std::uint64_t probe = speed.compare(Rates{{}, {0, kSlow}}); probe != 0) {
      probes.push_back(probe);
      EXPECT_EQ(speed.compare(Rates{{}, {0, kSlow}}), 0u) << "one beside a call";
    }
  }
  EXPECT_EQ(probes, (std::vector<std::uint64_t>{kMiB / 2, kMiB / 2}));
}

TEST(Speed, no_cast_is_made_to_measure_where_it_would_take_long) {
  Speed shorter, slow;
  int probes = 0;
  for (int call = 1; call <= 100; ++call) {
    if (shorter.on_run(milliseconds(1), Speed::kLongBytes)) {
      EXPECT_EQ(shorter.compare(Rates{{}, {0, call < 4 ? 0 : kSlow}}), call < 4 ? Speed::kLeastProbe : 0u);
      EXPECT_EQ(shorter.compare(Rates{{}, {0, kSlow}}), 0u);
    }
    if (slow.on_run(milliseconds(100), kMiB) && slow.compare(Rates{{}, {0, kSlow / 10}}) != 0) ++probes;
  }
  EXPECT_EQ(probes, 1) << "it proved that the links are slow";
}

TEST(Speed, comparing_goes_on_until_a_call_was_fast) {
  Speed speed;
  int compared = 0;
  for (int call = 1; call <= 1000; ++call)
    if (speed.on_run(milliseconds(100), 16 * kMiB)) ++compared;
  EXPECT_EQ(compared, 9) << "calls 2, 4, 8 ... 512";
  EXPECT_EQ(speed.rate(), 167'772'160u);
  speed.compare(Rates{{kFast}});
  for (int call = 1; call <= 5000; ++call) ASSERT_FALSE(speed.on_run(milliseconds(1), kMiB));
}

}  // namespace
}  // namespace herald::exec
