// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: repairs that are always lost leave as fast as ever; one burst of losses slows them as
// if it were many; the brake stays on when members catch up.
#include <gtest/gtest.h>

#include "rel/lane_repair.hpp"

namespace herald::rel {
namespace {

constexpr Duration kTimeout = milliseconds(2);

TEST(RepairBrake, holds_nothing_back_at_first) {
  RepairBrake brake;
  brake.on_sent(Instant{} + milliseconds(5), kTimeout);
  EXPECT_EQ(brake.next_at(), Instant{});
  EXPECT_EQ(brake.interval().ns, 0);
}

TEST(RepairBrake, doubles_the_interval_once_for_all_that_was_lost_together) {
  RepairBrake brake;
  Instant now = Instant{} + milliseconds(100);
  for (int i = 0; i < 50; ++i) brake.on_lost_again(now, kTimeout);
  const Duration first = brake.interval();
  EXPECT_GT(first.ns, 0);
  EXPECT_LT(first, kTimeout);
  now = now + kTimeout;
  for (int i = 0; i < 50; ++i) brake.on_lost_again(now, kTimeout);
  EXPECT_EQ(brake.interval().ns, 2 * first.ns);
  brake.on_sent(now, kTimeout);
  EXPECT_EQ(brake.next_at(), now + brake.interval());
}

TEST(RepairBrake, is_bounded_and_lets_go_when_nothing_more_is_lost) {
  RepairBrake brake;
  Instant now = Instant{} + milliseconds(100);
  for (int i = 0; i < 100; ++i) brake.on_lost_again(now = now + milliseconds(250), kTimeout);
  EXPECT_EQ(brake.interval(), milliseconds(200));
  brake.on_sent(now + milliseconds(199), kTimeout);
  EXPECT_EQ(brake.interval(), milliseconds(200)) << "the losses that were counted are not over";
  const Instant begin = now;
  for (now = now + milliseconds(200); brake.interval().ns != 0; now = brake.next_at())
    brake.on_sent(now, kTimeout);
  EXPECT_LT((now - begin).ns, milliseconds(1500).ns);
}

}  // namespace
}  // namespace herald::rel
