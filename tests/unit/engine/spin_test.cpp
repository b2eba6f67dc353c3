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

#include "engine/spin.hpp"
#include "tests/unit/engine/mask.hpp"

using namespace herald;
using namespace herald::engine;

TEST(Spin, ranks_that_fit_spin_and_ranks_that_do_not_sleep) {
  const std::vector<path::CpuMask> two(2, mask(0b11)), three(3, mask(0b11));
  EXPECT_GT(choose_spin(two, 0, {}, -1).spin_us, 0);
  EXPECT_EQ(choose_spin(three, 0, {}, -1).spin_us, 0);
}

TEST(Spin, bound_ranks_do_not_compete) {
  const std::vector<path::CpuMask> bound{mask(1), mask(2), mask(4), mask(8)};
  for (std::size_t me = 0; me < bound.size(); ++me) EXPECT_GT(choose_spin(bound, me, {}, -1).spin_us, 0);
  const std::vector<path::CpuMask> shared{mask(1), mask(1), mask(4)};
  EXPECT_EQ(choose_spin(shared, 0, {}, -1).spin_us, 0);
  EXPECT_GT(choose_spin(shared, 2, {}, -1).spin_us, 0);
}

TEST(Spin, the_quota_counts) {
  const std::vector<path::CpuMask> two(2, mask(0xff));
  EXPECT_GT(choose_spin(two, 0, {2.0, 2}, -1).spin_us, 0);
  EXPECT_EQ(choose_spin(two, 0, {1.5, 2}, -1).spin_us, 0);
}

// A pod with four processors and one rank, of a job with sixteen.
TEST(Spin, the_quota_is_for_ranks_of_this_host_only) {
  std::vector<path::CpuMask> job(16);
  job[3] = mask(0xff);
  EXPECT_GT(choose_spin(job, 3, {4.0, 1}, -1).spin_us, 0);
  EXPECT_TRUE(has_free_core(job, 3, {4.0, 1}));
}

TEST(Spin, a_core_is_free_where_every_rank_can_have_two) {
  const std::vector<path::CpuMask> two(2, mask(0xf)), three(3, mask(0xf)), bound{mask(1), mask(2)};
  EXPECT_TRUE(has_free_core(two, 0, {}));
  EXPECT_FALSE(has_free_core(three, 0, {}));
  EXPECT_FALSE(has_free_core(bound, 0, {})) << "a thread may run where its process may";
  EXPECT_FALSE(has_free_core({two.data(), 1}, 0, {1.5, 1}));
  EXPECT_TRUE(has_free_core({two.data(), 1}, 0, {2.0, 1}));
}

TEST(Spin, the_knob_decides) {
  const std::vector<path::CpuMask> many(9, mask(1));
  EXPECT_EQ(choose_spin(many, 0, {0.5, 9}, 77).spin_us, 77);
  EXPECT_TRUE(choose_spin(many, 0, {0.5, 9}, 77).forced);
  EXPECT_FALSE(choose_spin(many, 0, {}, -1).forced);
  EXPECT_EQ(choose_spin({many.data(), 1}, 0, {}, 0).spin_us, 0);
}

TEST(Spin, cpu_max_is_read) {
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

// In threads of their own: what they change ends with them.
TEST(Spin, a_slice_is_made_shorter_and_restored) {
  std::thread([] {
    const std::int64_t before = shorten_slice(200'000);
    if (before == 0) GTEST_SKIP() << "this kernel has no slices that can be chosen";
    EXPECT_GT(before, 200'000);
    EXPECT_EQ(shorten_slice(300'000), 0) << "it is shorter already";
    EXPECT_EQ(shorten_slice(150'000), 200'000);
    restore_slice(before);
    EXPECT_EQ(shorten_slice(200'000), before);
  }).join();
}

TEST(Spin, other_ways_of_scheduling_are_left_alone) {
  std::thread([] {
    const sched_param none{};
    ASSERT_EQ(sched_setscheduler(0, SCHED_BATCH, &none), 0);
    EXPECT_EQ(shorten_slice(100'000), 0);
    EXPECT_EQ(sched_getscheduler(0), SCHED_BATCH);
  }).join();
}

TEST(Spin, no_slice_is_asked_for) { EXPECT_EQ(shorten_slice(0), 0); }

TEST(Spin, what_kernel_threads_take_now_and_then_is_no_rival) {
  PreemptionMeter preemptions;
  Instant now{milliseconds(5000).ns};
  for (int i = 0; i < 1000; ++i) {  // a quarter of a percent
    now = now + milliseconds(40);
    EXPECT_FALSE(preemptions.add(now, microseconds(100))) << i;
  }
}

TEST(Spin, a_program_that_computes_beside_us_is_a_rival) {
  PreemptionMeter preemptions;
  Instant now{milliseconds(5000).ns};
  EXPECT_TRUE(preemptions.add(now, milliseconds(3))) << "a whole slice";
  int turns = 0;  // one with slices as short as ours
  do {
    now = now + microseconds(200);
    ++turns;
  } while (!preemptions.add(now, microseconds(100)));
  EXPECT_LE(turns, 3);
}
