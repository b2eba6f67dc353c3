// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a recorded datagram of a lane is taken for new when its 32-bit number comes again; a
// lane whose numbers have come far is closed, and its last questions are refused instead of answered.
#include "rel/lane_numbers.hpp"

#include <cstring>

#include "rel/lane_early.hpp"
#include "tests/unit/rel/callers.hpp"

namespace herald::rel {
namespace {

struct Recorded {
  PeerId from, to;
  std::vector<std::byte> bytes;
};

bool is_without_lane(std::span<const std::byte> datagram) {
  return datagram[1] == static_cast<std::byte>(wire::DatagramKind::cast_ack) &&
         (datagram[2] & static_cast<std::byte>(wire::kFlagNotOpen | wire::kFlagClosed)) != std::byte{0};
}

TEST(LaneNumbers, copies_from_before_numbers_wrapped_around_are_refused) {
  std::vector<Recorded> recorded;
  for (const std::uint32_t upper : {2u, 3u}) {
    LaneWorldConfig config;
    config.nodes = 3;
    config.seed = 4;
    config.loss = upper == 2 ? 0.05 : 0;  // so that there are naks and repairs
    config.lanes.first_upper = upper;
    LaneWorld world(config);
    if (upper == 2)
      world.drop = [&](PeerId from, PeerId to, std::span<const std::byte> datagram) {
        if (wire::is_lane_datagram(datagram) && !is_without_lane(datagram))
          recorded.push_back({from, to, {datagram.begin(), datagram.end()}});
        return false;
      };
    Callers callers(world);
    for (PeerId id = 0; id < 3; ++id) world[id].cast(1, 300, 200);  // lower halves wrap around meanwhile
    ASSERT_TRUE(world.run(milliseconds(1000), [&] { return world.all_flushed() && world.have(0, 300); }));
    ASSERT_TRUE(callers.run(milliseconds(1000), 20));
    if (upper == 2) continue;
    std::map<int, int> kinds;
    for (const Recorded& one : recorded) {
      const std::uint64_t forged = world.sum().forged;
      const PeerId to = one.to >= 0 ? one.to : (one.from + 1) % 3;
      world[to].on_datagram(one.to < 0, one.bytes);
      // A compact contribution to a lane that has another index there is dropped before its tag is looked at.
      if (!wire::is_compact(one.bytes)) {
        EXPECT_EQ(world.sum().forged, forged + 1);
      }
      ++kinds[std::to_integer<int>(one.bytes[1])];
    }
    for (const int kind : {5, 6, 7, 8, 9, 10}) EXPECT_GT(kinds[kind], 0) << kind;
    const std::uint64_t got = world[1].got;
    for (PeerId id = 0; id < 3; ++id) world[id].cast(1, 100, 200);
    ASSERT_TRUE(world.run(milliseconds(1000), [&] { return world.all_flushed() && world.have(0, 400); }));
    EXPECT_EQ(world[1].got, got + 200);
    ASSERT_TRUE(callers.run(milliseconds(1000), 40));
  }
}

TEST(LaneNumbers, upper_halves_count_up_where_lower_ones_wrap_around) {
  LaneNumbers numbers(5, 2);
  EXPECT_EQ(numbers.cast(1, kFirstCast), (std::uint64_t{5} << 32) + kFirstCast);
  EXPECT_EQ(numbers.cast(1, 3), (std::uint64_t{6} << 32) + 3);
  EXPECT_EQ(numbers.exchange(7), (std::uint64_t{5} << 32) + 7);
  for (Seq seq = kFirstCast; seq != 0x1000; seq += 0x20) numbers.on_cast(1, seq);
  EXPECT_EQ(numbers.cast(1, 0x1010), (std::uint64_t{6} << 32) + 0x1010);
  EXPECT_EQ(numbers.cast(0, kFirstCast), (std::uint64_t{5} << 32) + kFirstCast);
  EXPECT_FALSE(numbers.is_far());
}

TEST(LaneNumbers, a_closed_lane_knows_numbers_that_have_come_far) {
  LanesConfig config;
  const PeerId members[] = {0, 1};
  LaneInfo near(11, members, config), far(12, members, config), counted(13, members, config);
  for (Seq seq = 0; seq < 0xf000'0000; seq += 0x1000'0000) {
    far.numbers.on_cast(1, kFirstCast + seq);
    counted.numbers.on_exchange(seq);
  }
  ClosedLanes closed;
  for (const LaneInfo* one : {&near, &far, &counted}) closed.on_closed(*one);
  EXPECT_EQ(closed.find_far(11), nullptr);
  ASSERT_NE(closed.find_far(12), nullptr);
  EXPECT_EQ(closed.find_far(12)->numbers.cast(1, 0xe000'0001), 0x1'e000'0001u);
  ASSERT_NE(closed.find_far(13), nullptr);
  EXPECT_EQ(closed.find_far(13)->numbers.exchange(1), 0x1'0000'0001u);
  closed.on_opened(12);
  EXPECT_EQ(closed.find_far(12), nullptr);
}

}  // namespace
}  // namespace herald::rel
