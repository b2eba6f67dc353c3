// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: ranks that outnumber processors spin and keep each other from running; ranks that are
// bound to a processor each are taken for crowded; a quota of the control group is misread, or held against
// ranks of other hosts; the slice of a
// thread is lengthened, or stays short when we are gone; a kernel thread that runs for a moment ends
// spinning, or a program that computes beside us does not.
#include <gtest/gtest.h>
#include <sched.h>

#include <thread>
#include <vector>

#include "engine/processors.hpp"
#include "tests/unit/engine/mask.hpp"

using namespace herald;
using namespace herald::engine;

TEST(Processors, ranks_that_fit_spin_and_ranks_that_do_not_sleep) {
  const std::vector<path::CpuMask> two(2, mask(0b11)), three(3, mask(0b11));
  EXPECT_GT(choose_spin(two, 0, {}, -1).spin, Duration{});
  EXPECT_EQ(choose_spin(three, 0, {}, -1).spin, Duration{});
}

TEST(Processors, bound_ranks_do_not_compete) {
  const std::vector<path::CpuMask> bound{mask(1), mask(2), mask(4), mask(8)};
  for (std::size_t me = 0; me < bound.size(); ++me)
    EXPECT_GT(choose_spin(bound, me, {}, -1).spin, Duration{});
  const std::vector<path::CpuMask> shared{mask(1), mask(1), mask(4)};
  EXPECT_EQ(choose_spin(shared, 0, {}, -1).spin, Duration{});
  EXPECT_GT(choose_spin(shared, 2, {}, -1).spin, Duration{});
}

TEST(Processors, the_quota_counts) {
  const std::vector<path::CpuMask> two(2, mask(0xff));
  EXPECT_GT(choose_spin(two, 0, {2.0, 2}, -1).spin, Duration{});
  EXPECT_EQ(choose_spin(two, 0, {1.5, 2}, -1).spin, Duration{});
}

// A pod with four processors and one rank, of a job with sixteen.
TEST(Processors, the_quota_is_for_ranks_of_this_host_only) {
  std::vector<path::CpuMask> job(16);
  job[3] = mask(0xff);
  EXPECT_GT(choose_spin(job, 3, {4.0, 1}, -1).spin, Duration{});
  EXPECT_TRUE(has_free_core(job, 3, {4.0, 1}));
}

TEST(Processors, a_core_is_free_where_every_rank_can_have_two) {
  const std::vector<path::CpuMask> two(2, mask(0xf)), three(3, mask(0xf)), bound{mask(1), mask(2)};
  EXPECT_TRUE(has_free_core(two, 0, {}));
  EXPECT_FALSE(has_free_core(three, 0, {}));
  EXPECT_FALSE(has_free_core(bound, 0, {})) << "a thread may run where its process may";
  EXPECT_FALSE(has_free_core({two.data(), 1}, 0, {1.5, 1}));
  EXPECT_TRUE(has_free_core({two.data(), 1}, 0, {2.0, 1}));
}

TEST(Processors, the_knob_decides) {
  const std::vector<path::CpuMask> many(9, mask(1));
  EXPECT_EQ(choose_spin(many, 0, {0.5, 9}, 77).spin, microseconds(77));
  EXPECT_TRUE(choose_spin(many, 0, {0.5, 9}, 77).forced);
  EXPECT_FALSE(choose_spin(many, 0, {}, -1).forced);
  EXPECT_EQ(choose_spin({many.data(), 1}, 0, {}, 0).spin, Duration{});
}

TEST(Processors, cpu_max_is_read) {
  EXPECT_EQ(parse_cpu_max("max 100000\n"), 0);
  EXPECT_DOUBLE_EQ(parse_cpu_max("150000 100000\n"), 1.5);
  EXPECT_EQ(parse_cpu_max(""), 0);
  EXPECT_EQ(parse_cpu_max("5"), 0);
  EXPECT_EQ(parse_cpu_max("100000 0"), 0);
  EXPECT_GE(read_cpu_quota(), 0);
  const path::CpuMask here = read_affinity();
  bool any = false;
  for (std::uint64_t word : here) any = any || word != 0;
  EXPECT_TRUE(any);
}
