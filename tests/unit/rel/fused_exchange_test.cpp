// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a contribution or result is lost, duplicated or given to the wrong call; acks cost too
// much; repeats to a member that does not call never end; a member without multicast, late, dead or gone
// stops the others.
#include <array>
#include <cstring>

#include "tests/unit/rel/callers.hpp"
#include "wire/compact.hpp"
#include "wire/lane.hpp"

namespace herald::rel {
namespace {

TEST(FusedExchange, needs_one_datagram_per_member_and_one_multicast) {
  LaneWorld world(hosts(8));
  Callers callers(world);
  ASSERT_TRUE(callers.run(milliseconds(1000), 100));
  EXPECT_EQ(world.kinds[kContributions], 7u) << "the first contribution of each member names the lane";
  EXPECT_EQ(world.kinds[kCompacts], 693u);
  EXPECT_EQ(world.kinds[kResults], 100u);
  EXPECT_EQ(world.datagrams, 800u);
  ASSERT_TRUE(world.run(milliseconds(50), [&] { return world.all_flushed(); }));
  EXPECT_EQ(world.datagrams, 807u) << "each member acknowledges the last result once";
}

TEST(FusedExchange, a_lost_datagram_is_repeated_within_a_few_round_trips) {
  for (const int kind : {kCompacts, kResults}) {
    LaneWorld world(hosts(8));
    Callers callers(world);
    ASSERT_TRUE(callers.run(milliseconds(100), 5));
    bool dropped = false;
    world.drop = [&](PeerId from, PeerId to, std::span<const std::byte> datagram) {
      if (dropped || std::to_integer<int>(datagram[1]) != kind || (from != 3 && to != 3)) return false;
      return dropped = true;
    };
    const Instant begin = world.now();
    ASSERT_TRUE(callers.run(milliseconds(100), 6));
    EXPECT_TRUE(dropped);
    EXPECT_LT(world.now() - begin, milliseconds(4)) << kind;
    EXPECT_LE(world[3].lanes.counters().fused_resent, 2u);
  }
}

// The root gives a lane index to another lane later.
TEST(FusedExchange, a_compact_contribution_to_a_closed_lane_does_not_reach_the_next_lane) {
  LaneWorld world(hosts(4));
  Callers callers(world);
  std::vector<std::byte> compact;
  world.drop = [&](PeerId, PeerId, std::span<const std::byte> datagram) {
    if (std::to_integer<int>(datagram[1]) == kCompacts) compact.assign(datagram.begin(), datagram.end());
    return false;
  };
  ASSERT_TRUE(callers.run(milliseconds(100), 3));
  ASSERT_EQ(compact.size(), sizeof(wire::CompactHead) + 8);
  ASSERT_TRUE(world.run(milliseconds(100), [&] { return world.all_flushed(); }));
  Lanes& lanes = world[0].lanes;
  const LaneId old = callers.lane(0);
  EXPECT_TRUE(lanes.on_datagram(world.now(), false, compact)) << "a duplicate changes nothing";
  EXPECT_FALSE(lanes.on_datagram(world.now(), true, compact))
      << "a compact contribution never goes to the group";
  lanes.close(old);
  EXPECT_FALSE(lanes.on_datagram(world.now(), false, compact));
  const std::array<PeerId, 4> members{0, 1, 2, 3};
  ASSERT_EQ(lanes.open(77, members), old);
  const std::uint64_t forged = lanes.counters().forged;
  EXPECT_FALSE(lanes.on_datagram(world.now(), false, compact));
  EXPECT_EQ(lanes.counters().forged, forged);
  EXPECT_EQ(lanes.counters().late_contributions, 2u);
  EXPECT_EQ(lanes.gather(old, 2), Lanes::FusedState::pending);
  EXPECT_TRUE(lanes.contribution(old, 2, 1).empty());
  std::uint64_t name = 100;
  for (int i = 0; i < 62; ++i) {  // until the lane index is the same again
    lanes.close(old);
    ASSERT_EQ(lanes.open(++name, members), old);
  }
  EXPECT_FALSE(lanes.on_datagram(world.now(), false, compact));
  EXPECT_EQ(lanes.counters().forged, forged + 1) << "the name is under the tag";
  for (std::size_t size = 0; size < sizeof(wire::CompactHead); ++size)
    EXPECT_FALSE(lanes.on_datagram(world.now(), false, {compact.data(), size}));
}

TEST(FusedExchange, a_result_is_repeated_until_all_members_have_it) {
  LaneWorld world(hosts(4));
  Callers callers(world);
  ASSERT_TRUE(callers.run(milliseconds(100), 3));
  ASSERT_TRUE(world.run(milliseconds(100), [&] { return world.all_flushed(); }));
  // The acks of the last result are lost.
  world.drop = [&](PeerId, PeerId, std::span<const std::byte> datagram) {
    return std::to_integer<int>(datagram[1]) == kContributions &&
           (std::to_integer<int>(datagram[2]) & wire::kFlagNoContribution) != 0;
  };
  ASSERT_TRUE(callers.run(milliseconds(100), 4));
  world.run(milliseconds(50));
  EXPECT_FALSE(world[0].lanes.is_flushed());
  EXPECT_GE(world[0].lanes.counters().fused_resent, 3u);
  world.drop = nullptr;
  ASSERT_TRUE(world.run(milliseconds(300), [&] { return world.all_flushed(); }));
}

TEST(FusedExchange, a_member_without_multicast_gets_the_result_by_unicast_at_once) {
  LaneWorld world(hosts(4));
  Callers callers(world);
  world.forwards = [](PeerId, PeerId to) { return to != 2; };
  ASSERT_TRUE(callers.run(milliseconds(1000), 12));
  EXPECT_FALSE(world[0].lanes.receives_multicast(1, 2));
  const Instant begin = world.now();
  ASSERT_TRUE(callers.run(milliseconds(100), 22));
  EXPECT_LT(world.now() - begin, milliseconds(5)) << "no longer than with multicast: ten round trips";
  world.forwards = nullptr;
  ASSERT_TRUE(callers.run(milliseconds(100), 30));
  EXPECT_TRUE(world[0].lanes.receives_multicast(world[0].ids[1], 2)) << "each result to the group probes it";
}

TEST(FusedExchange, works_without_any_multicast) {
  LaneWorld world(hosts(6));
  Callers callers(world);
  world.forwards = [](PeerId, PeerId) { return false; };
  ASSERT_TRUE(callers.run(milliseconds(1000), 12));
  const std::uint64_t sent = world.by_group;
  const Instant begin = world.now();
  ASSERT_TRUE(callers.run(milliseconds(100), 22));
  EXPECT_LT(world.now() - begin, milliseconds(5));
  EXPECT_LE(world.by_group - sent, 3u);
}

TEST(FusedExchange, every_result_is_right_under_loss_duplicates_and_reordering) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    LaneWorldConfig config = hosts(3 + static_cast<int>(seed % 12));
    config.seed = seed;
    config.loss = 0.1;
    config.duplicate = config.reorder = 0.1;
    config.corrupt = 0.02;
    LaneWorld world(config);
    Callers callers(world);
    ASSERT_TRUE(callers.run(milliseconds(20'000), 60)) << seed;
    ASSERT_TRUE(world.run(milliseconds(2000), [&] { return world.all_flushed(); })) << seed;
  }
}

TEST(FusedExchange, the_number_of_open_exchanges_is_bounded) {
  LaneWorld world(hosts(3));
  Lanes& lanes = world[1].lanes;
  const LaneId lane = world[1].ids[1];
  for (std::uint32_t n = 0; n < 8; ++n) EXPECT_TRUE(lanes.contribute(lane, n, {}));
  EXPECT_FALSE(lanes.contribute(lane, 8, {}));
  for (std::uint32_t n = 0; n < 8; ++n) EXPECT_TRUE(world[2].lanes.contribute(world[2].ids[1], n, {}));
  world.settle(1);
  world.settle(2);
  world.run(milliseconds(1));
  const LaneId first = world[0].ids[1];
  for (const std::uint32_t n : {7u, 0u}) {
    ASSERT_EQ(world[0].lanes.gather(first, n), Lanes::FusedState::complete);
    world[0].lanes.announce(world.now(), first, n, {});
  }
  EXPECT_EQ(world[0].lanes.gather(first, 20), Lanes::FusedState::pending) << "too far ahead to be known";
  world.settle(0);
  world.run(milliseconds(1));
  std::span<const std::byte> result;
  EXPECT_EQ(lanes.result(lane, 7, result), Lanes::FusedState::complete);
  EXPECT_FALSE(lanes.contribute(lane, 8, {})) << "the result of 0 is not taken yet";
  lanes.take_result(lane, 0);
  EXPECT_TRUE(lanes.contribute(lane, 8, {}));
}

// Hosts of several ranks begin their exchanges in any order: the shared-memory phase ends in any order.
TEST(FusedExchange, exchanges_may_begin_in_any_order) {
  constexpr std::uint32_t kCalls = 60;
  LaneWorld world(hosts(3));
  std::vector<std::set<std::uint32_t>> left(3);
  for (auto& each : left)
    for (std::uint32_t n = 0; n < kCalls; ++n) each.insert(n);
  std::set<std::pair<PeerId, std::uint32_t>> contributed;
  const auto last_first = [&](PeerId id) {
    Lanes& lanes = world[id].lanes;
    const LaneId lane = world[id].ids[1];
    const std::set<std::uint32_t> now = left[static_cast<std::size_t>(id)];
    for (auto n = now.rbegin(); n != now.rend(); ++n) {
      std::span<const std::byte> result;
      if (id == 0) {
        if (lanes.gather(lane, *n) != Lanes::FusedState::complete) continue;
        lanes.announce(world.now(), lane, *n, {});
      } else {
        if (contributed.count({id, *n}) == 0 && lanes.contribute(lane, *n, {})) contributed.insert({id, *n});
        if (lanes.result(lane, *n, result) != Lanes::FusedState::complete) continue;
        lanes.take_result(lane, *n);
      }
      left[static_cast<std::size_t>(id)].erase(*n);
    }
    world.settle(id);
  };
  EXPECT_TRUE(world.run(milliseconds(2000), [&] {
    for (PeerId id = 0; id < 3; ++id) last_first(id);
    return left[0].empty() && left[1].empty() && left[2].empty();
  })) << left[0].size();
}

// A rank that lost a peer passes on what it has, so that nobody waits for ever: it must not look whole.
TEST(FusedExchange, what_is_made_without_the_data_of_a_lost_rank_fails_everywhere) {
  LaneWorld world(hosts(3));
  const auto lane = [&](PeerId id) { return world[id].ids[1]; };
  EXPECT_TRUE(world[1].lanes.contribute(lane(1), 0, {}, true));
  EXPECT_TRUE(world[2].lanes.contribute(lane(2), 0, {}));
  world.settle(1);
  world.settle(2);
  world.run(milliseconds(1));
  EXPECT_EQ(world[0].lanes.gather(lane(0), 0), Lanes::FusedState::lost) << "a contribution is incomplete";
  world[0].lanes.announce(world.now(), lane(0), 0, {}, true);
  world.settle(0);
  world.run(milliseconds(1));
  std::span<const std::byte> result;
  for (const PeerId id : {1, 2}) {
    EXPECT_EQ(world[id].lanes.result(lane(id), 0, result), Lanes::FusedState::lost) << id;
    world[id].lanes.take_result(lane(id), 0);
    EXPECT_TRUE(world[id].lanes.contribute(lane(id), 1, {})) << "the next exchange is another one";
    world.settle(id);
  }
  world.run(milliseconds(1));
  EXPECT_EQ(world[0].lanes.gather(lane(0), 1), Lanes::FusedState::complete);
  world[0].lanes.announce(world.now(), lane(0), 1, {});
  world.settle(0);
  world.run(milliseconds(1));
  EXPECT_EQ(world[1].lanes.result(lane(1), 1, result), Lanes::FusedState::complete);
}

TEST(FusedExchange, a_dead_member_ends_only_the_wait_for_itself) {
  LaneWorld world(hosts(4));
  Callers callers(world);
  ASSERT_TRUE(callers.run(milliseconds(100), 3));
  const LaneId lane = world[0].ids[1];
  callers.go_on(1, 4);
  world.run(milliseconds(1));
  world[2].dead = true;
  world[0].lanes.forget_peer(2);
  EXPECT_EQ(world[0].lanes.gather(lane, 3), Lanes::FusedState::pending) << "member 3 may still contribute";
  callers.go_on(3, 4);
  world.run(milliseconds(1));
  EXPECT_EQ(world[0].lanes.gather(lane, 3), Lanes::FusedState::lost);
  EXPECT_FALSE(world[0].lanes.contribution(lane, 3, 1).empty());
  EXPECT_TRUE(world[0].lanes.contribution(lane, 3, 2).empty());
  EXPECT_EQ(world[0].lanes.gather(lane, 40), Lanes::FusedState::lost)
      << "member 2 cannot have contributed yet";
  world[0].lanes.announce(world.now(), lane, 3, {});
  world.settle(0);
  world.run(milliseconds(50));
  EXPECT_TRUE(world[0].lanes.is_flushed()) << "a dead member is owed nothing";
  std::span<const std::byte> result;
  EXPECT_EQ(world[1].lanes.result(world[1].ids[1], 3, result), Lanes::FusedState::complete);
  world[1].lanes.take_result(world[1].ids[1], 3);
  EXPECT_TRUE(world[1].lanes.contribute(world[1].ids[1], 4, {}));
  world[1].lanes.forget_peer(0);
  EXPECT_EQ(world[1].lanes.result(world[1].ids[1], 4, result), Lanes::FusedState::lost);
}

TEST(FusedExchange, a_root_that_closes_the_lane_announces_until_all_members_have_the_result) {
  LaneWorld world(hosts(4));
  Callers callers(world);
  ASSERT_TRUE(callers.run(milliseconds(100), 3));
  bool silent = true;
  world.drop = [&](PeerId, PeerId to, std::span<const std::byte> datagram) {
    return silent && to == 2 && std::to_integer<int>(datagram[1]) == kResults;
  };
  for (PeerId id = 1; id < 4; ++id) callers.go_on(id, 4);
  world.run(milliseconds(1));
  ASSERT_TRUE(callers.go_on(0, 4));
  world[0].lanes.close(callers.lane(0));
  world.settle(0);
  world.run(milliseconds(30));
  silent = false;
  ASSERT_TRUE(callers.run(milliseconds(500), 4));
  world.run(milliseconds(20));
  for (PeerId id = 1; id < 4; ++id) world[id].lanes.close(callers.lane(id));
  ASSERT_TRUE(world.run(milliseconds(500), [&] { return world.all_flushed(); }));
  EXPECT_EQ(world[0].lanes.buffered_bytes(), 0u);
}

TEST(FusedExchange, contributions_with_impossible_numbers_change_nothing) {
  LaneWorld world(hosts(4));
  Callers callers(world);
  ASSERT_TRUE(callers.run(milliseconds(100), 3));
  std::array<std::byte, 400> body{};
  wire::ContributionPart part;
  part.name = 1;
  for (const std::uint8_t behind : {0, 1, 2, 8, 15, 128, 255})
    for (const std::uint32_t lower : {0u, 2u, 11u, 15u, 130u, 4000u, 0x80000000u, 0xfffffff0u})
      for (const std::size_t bytes : {sizeof part, sizeof part + 8, body.size()}) {
        const std::uint64_t number = LaneNumbers::new_exchange(0, lower);
        part.behind = behind;
        std::memcpy(body.data(), &part, sizeof part);
        world.inject(0, wire::DatagramKind::contribution, wire::kFlagAskAck, 1, number, {body.data(), bytes});
        world.inject(2, wire::DatagramKind::contribution, 0, 1, number,
                     {body.data(), bytes});  // not the root
        world.inject(2, wire::DatagramKind::result, wire::kFlagAskAck, 1, number, {body.data(), bytes});
        world.inject(2, wire::DatagramKind::contribution_ack, 0, 0, number,
                     {body.data(), sizeof(wire::LanePart)});
      }
  ASSERT_TRUE(callers.run(milliseconds(1000), 40));
}

}  // namespace
}  // namespace herald::rel
