// SPDX-License-Identifier: BSD-3-Clause
#include "engine/time_slice.hpp"

#include <gtest/gtest.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>

namespace herald::engine {
namespace {

struct Attributes {
  std::uint32_t size, policy;
  std::uint64_t flags;
  std::int32_t nice;
  std::uint32_t priority;
  std::uint64_t runtime, deadline, period;
};

std::uint64_t slice_ns() {
  Attributes now{};
  EXPECT_EQ(::syscall(SYS_sched_getattr, 0, &now, sizeof now, 0), 0);
  return now.runtime;
}

// Kernels before 6.12 report no slice for ordinary threads.
bool kernel_has_slices() { return ::sched_getscheduler(0) == SCHED_OTHER && slice_ns() > 100'000; }

TEST(TimeSlice, IsShortWhileItLivesAndAsBeforeAfterwards) {
  if (!kernel_has_slices()) GTEST_SKIP() << "this kernel has no slices for ordinary threads";
  const std::uint64_t before = slice_ns();
  {
    TimeSlice slice;
    slice.shorten();
    EXPECT_EQ(slice_ns(), 100'000U);
    slice.shorten();  // the former slice is still known
  }
  EXPECT_EQ(slice_ns(), before);
}

TEST(TimeSlice, LeavesAThreadUnderAnotherPolicyAlone) {
  const sched_param none{};
  ASSERT_EQ(::sched_setscheduler(0, SCHED_BATCH, &none), 0);
  const std::uint64_t before = slice_ns();
  TimeSlice slice;
  slice.shorten();
  EXPECT_EQ(slice_ns(), before);
  EXPECT_EQ(::sched_getscheduler(0), SCHED_BATCH);
  ASSERT_EQ(::sched_setscheduler(0, SCHED_OTHER, &none), 0);
}

}  // namespace
}  // namespace herald::engine
