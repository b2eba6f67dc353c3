// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong when a member is late, or seems to be: a member that waits is not served, or repeats
// itself too often.
#include "tests/unit/rel/callers.hpp"

namespace herald::rel {
namespace {

// A member may sleep in the receive of the group's socket: it gets nothing else until it is reminded, and its
// own timers do not run.
TEST(FusedExchange, a_member_that_receives_only_multicast_is_reminded) {
  for (const int kind : {kCompacts, kResults}) {
    LaneWorld world(hosts(8));
    Callers callers(world);
    ASSERT_TRUE(callers.run(milliseconds(100), 5));
    bool dropped = false, reminded = false;
    std::vector<std::byte> to_all;
    world.drop = [&](PeerId from, PeerId to, std::span<const std::byte> datagram) {
      const int what = std::to_integer<int>(datagram[1]);
      if (to == 2) to_all.assign(datagram.begin(), datagram.end());
      if (!dropped) return dropped = what == kind && (from == 3 || to == 3);
      if (from == 3) return !reminded;
      if (to != 3) return false;
      const bool by_group = std::equal(datagram.begin(), datagram.end(), to_all.begin(), to_all.end());
      reminded = reminded || (by_group && (std::to_integer<int>(datagram[2]) & wire::kFlagAskAck) != 0);
      return !by_group;
    };
    const Instant begin = world.now();
    ASSERT_TRUE(callers.run(milliseconds(100), 7)) << kind;
    EXPECT_TRUE(dropped && reminded);
    EXPECT_LT(world.now() - begin, milliseconds(8))
        << kind << ": by the second reminder, as the member had just tried itself";
  }
}

TEST(FusedExchange, a_root_that_waits_for_a_computing_member_reminds_seldom) {
  LaneWorld world(hosts(8));
  Callers callers(world);
  ASSERT_TRUE(callers.run(milliseconds(100), 2));
  world.kinds.clear();
  world.run(milliseconds(2000), [&] {
    for (PeerId id = 0; id < 7; ++id) (void)callers.go_on(id, 3);
    return false;
  });
  EXPECT_LE(world.kinds[kResults], 40u);
  EXPECT_LE(world.kinds[kContributions], 6u * 40);
  EXPECT_LE(world.kinds[kContributionAcks], 6u * 40);
  const Instant begin = world.now();
  ASSERT_TRUE(callers.run(milliseconds(1000), 3));
  EXPECT_LT(world.now() - begin, milliseconds(1));
}

TEST(FusedExchange, a_member_that_waits_for_a_computing_root_repeats_seldom) {
  LaneWorld world(hosts(8));
  Callers callers(world);
  ASSERT_TRUE(callers.run(milliseconds(100), 2));
  world.kinds.clear();
  for (PeerId id = 1; id < 8; ++id) callers.go_on(id, 3);
  world.run(milliseconds(2000));  // the root does not call
  EXPECT_LE(world.kinds[kContributions], 7u * 14);
  EXPECT_LE(world.kinds[kContributionAcks], 7u * 14);
  EXPECT_GE(world.kinds[kContributionAcks], 7u);
  const Instant begin = world.now();
  ASSERT_TRUE(callers.run(milliseconds(1000), 3));
  EXPECT_LT(world.now() - begin, milliseconds(1));
}

}  // namespace
}  // namespace herald::rel
