// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong when a process resumes: it sends acks and retransmissions that are overdue only because
// it did not run, before the packets that peers wait for; or it postpones them for ever because it resumes
// too often.
#include "rel/deferred_timers.hpp"
#include "tests/unit/rel/lane_world.hpp"
#include "tests/unit/rel/world.hpp"

namespace herald::rel {
namespace {

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

// Nothing leaves at the first resumption, nor at the next ones soon after it, but later something does.
template <class Room>
void expect_deferred(Room& room, Instant now, Duration away, Duration at_most) {
  const Instant first = now + away;
  ASSERT_TRUE(room.next_deadline().has_value());
  ASSERT_LT(*room.next_deadline(), first) << "nothing is overdue";
  Instant back = first;
  for (; back == first || back - first < at_most; back = back + away) {
    room.on_resume(back, away);
    EXPECT_EQ(sends(room, back), 0u) << (back - first).ns;
    ASSERT_TRUE(room.next_deadline().has_value());
    EXPECT_GE(*room.next_deadline(), back + std::min(Duration{away.ns / 4}, milliseconds(1)));
    EXPECT_LT(*room.next_deadline(), back + milliseconds(4)) << "who stays has to";
  }
  room.on_resume(back + milliseconds(1), away);
  EXPECT_GE(sends(room, back + milliseconds(1)), 1u);
}

constexpr Duration kOften = milliseconds(3), kSeldom = milliseconds(100);

}  // namespace

TEST(RelReturn, an_ack_and_a_retransmission_are_postponed_for_a_while) {
  for (const PeerId who : {0, 1, 2, 3}) {
    World world(WorldConfig{});
    world[0].send(1, 3, 100);
    world.settle(0);
    world.run(milliseconds(100));
    world[0].send(1, 1, 100);
    world.settle(0);
    ASSERT_TRUE(world.run(milliseconds(10), [&] { return world[1].got_packets == 4; }));
    expect_deferred(world[who % 2].mesh, world.now(), who < 2 ? kOften : kSeldom,
                    who % 2 == 0 ? kRepeatDeferral : kAckDeferral);
  }
}

TEST(RelReturn, lanes_postpone_acks_and_queries_for_a_while) {
  for (const PeerId who : {0, 1, 2, 3}) {
    LaneWorldConfig config;
    config.nodes = 5;
    LaneWorld world(config);
    world[0].cast(1, 3, 8);
    ASSERT_TRUE(world.run(milliseconds(500), [&] { return world.have(0, 3) && world.all_flushed(); }));
    world[0].cast(1, 1, 8);
    ASSERT_TRUE(world.run(milliseconds(10), [&] { return world.have(0, 4); }));
    expect_deferred(world[who % 2].lanes, world.now(), who < 2 ? kOften : kSeldom,
                    who % 2 == 0 ? kRepeatDeferral : kAckDeferral);
  }
}

}  // namespace herald::rel
