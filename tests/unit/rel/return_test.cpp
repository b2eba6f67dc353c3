// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong when a program comes back from computing: it sends acks and repeats packets because it
// was away itself, just when others wait for what it is about to do; or it puts them off for ever because it
// always comes back before they are due.
#include "tests/unit/rel/lane_world.hpp"
#include "tests/unit/rel/world.hpp"

namespace herald::rel {
namespace {

constexpr Duration kAway = milliseconds(3);

template <class Room>
std::size_t sends(Room& room, Instant now) {
  const auto out = std::make_unique<TxBatch>();
  out->clear();
  std::size_t count = 0;
  while (room.poll_transmit(now, *out) != 0) {
    count += out->count;
    out->clear();
  }
  return count;
}

// Nothing leaves when it comes back the first time, and something when it does again.
template <class Room>
void expect_excused_once(Room& room, Instant now) {
  const Instant back = now + kAway, again = back + kAway;
  ASSERT_TRUE(room.next_deadline().has_value());
  ASSERT_LT(*room.next_deadline(), back) << "nothing is overdue";
  room.on_return(back);
  EXPECT_EQ(sends(room, back), 0u);
  ASSERT_TRUE(room.next_deadline().has_value());
  EXPECT_GT(*room.next_deadline(), back);
  EXPECT_LT(*room.next_deadline(), again);
  room.on_return(again);
  EXPECT_GE(sends(room, again), 1u);
}

}  // namespace

TEST(RelReturn, an_ack_and_a_repeated_packet_are_put_off_once) {
  for (const PeerId who : {0, 1}) {
    World world(WorldConfig{});
    world[0].send(1, 3, 100);
    world.settle(0);
    world.run(milliseconds(100));
    world[0].send(1, 1, 100);
    world.settle(0);
    ASSERT_TRUE(world.run(milliseconds(10), [&] { return world[1].got_packets == 4; }));
    expect_excused_once(world[who].mesh, world.now());
  }
}

TEST(RelReturn, lanes_put_off_acks_and_questions_once) {
  for (const PeerId who : {0, 1}) {
    LaneWorldConfig config;
    config.nodes = 5;
    LaneWorld world(config);
    world[0].cast(1, 3, 8);
    ASSERT_TRUE(world.run(milliseconds(500), [&] { return world.have(0, 3) && world.all_flushed(); }));
    world[0].cast(1, 1, 8);
    ASSERT_TRUE(world.run(milliseconds(10), [&] { return world.have(0, 4); }));
    expect_excused_once(world[who].lanes, world.now());
  }
}

}  // namespace herald::rel
