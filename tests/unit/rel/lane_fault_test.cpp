// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a member without multicast, or one that is late, gone, dead or refuses packets, stops
// the others, is forgotten, or is waited for forever.
#include <cstring>

#include "rel/lane_numbers.hpp"
#include "tests/unit/effort.hpp"
#include "tests/unit/rel/lane_world.hpp"

namespace herald::rel {
namespace {

TEST(LaneFault, members_without_multicast_are_served_from_the_same_log) {
  for (const double loss : {0.0, 0.02}) {
    LaneWorldConfig config = small(6);
    config.loss = loss;
    LaneWorld world(config);
    world.forwards = [](PeerId, PeerId to) { return to != 3 && to != 4; };
    world[0].cast(1, 1000, 0);
    ASSERT_TRUE(world.run(milliseconds(5000), [&] { return world.have(0, 1000) && world.all_flushed(); }));
    expect_clean(world);
    const LaneId lane = world[0].ids[1];
    for (PeerId id = 1; id < 6; ++id)
      EXPECT_EQ(world[0].lanes.receives_multicast(lane, id), id != 3 && id != 4) << id;
    EXPECT_EQ(world[0].lanes.counters().multicast_lost, 2u);
    for (const auto& [member, hears] : world[0].changes) EXPECT_EQ(hears, member != 3 && member != 4);
  }
}

TEST(LaneFault, a_switch_that_forwards_no_multicast_costs_only_unicast) {
  LaneWorld world(small(4));
  world.forwards = [](PeerId, PeerId) { return false; };
  for (PeerId id = 0; id < 4; ++id) world[id].cast(1, 300, 0);
  ASSERT_TRUE(world.run(milliseconds(5000), [&] {
    for (PeerId id = 0; id < 4; ++id)
      if (!world.have(id, 300)) return false;
    return world.all_flushed();
  }));
  expect_clean(world);
  EXPECT_LE(world.by_group, 4 * 150u);  // probes, and then none
  EXPECT_LE(world.kinds[5], 4 * (3 * 300u + 250u));
}

TEST(LaneFault, multicast_that_stops_and_returns_breaks_no_stream) {
  LaneWorld world(small(5));
  bool works = true;
  world.forwards = [&](PeerId, PeerId) { return works; };
  world[0].cast(1, 6000, 0);
  world.run(milliseconds(10));
  works = false;
  world.run(milliseconds(60));
  const LaneId lane = world[0].ids[1];
  for (PeerId id = 1; id < 5; ++id) EXPECT_FALSE(world[0].lanes.receives_multicast(lane, id)) << id;
  works = true;
  ASSERT_TRUE(world.run(milliseconds(5000), [&] { return world.have(0, 6000) && world.all_flushed(); }));
  expect_clean(world);
  for (PeerId id = 1; id < 5; ++id) EXPECT_TRUE(world[0].lanes.receives_multicast(lane, id)) << id;
  EXPECT_EQ(world[0].lanes.counters().multicast_lost, 4u);
  EXPECT_EQ(world[0].lanes.counters().multicast_regained, 4u);
  EXPECT_EQ(world[0].changes.size(), 3 * 4u);  // receives multicast, does not, does again
}

// A switch that forgets some group members, in the middle of many small casts.
TEST(LaneFault, small_casts_also_find_members_that_the_switch_forgot) {
  LaneWorld world(small(8));
  bool forgot = false;
  world.forwards = [&](PeerId, PeerId to) { return !forgot || to < 5; };
  for (int i = 0; i < 400; ++i) {
    if (i == 100) forgot = true;
    if (i == 300) forgot = false;
    world[0].cast(1, 1, 8);
    ASSERT_TRUE(world.run(milliseconds(20), [&] { return world.have(0, static_cast<unsigned>(i) + 1); }))
        << i;
  }
  ASSERT_TRUE(world.run(milliseconds(500), [&] { return world.all_flushed(); }));
  expect_clean(world);
  EXPECT_EQ(world[0].lanes.counters().multicast_lost, 3u);
  EXPECT_EQ(world[0].lanes.counters().multicast_regained, 3u);
}

TEST(LaneFault, thirty_percent_loss_does_not_stay_no_multicast) {
  LaneWorldConfig config = small(8);
  config.loss = 0.3;
  LaneWorld world(config);
  world[0].cast(1, 1000, 0);
  ASSERT_TRUE(world.run(milliseconds(10'000), [&] { return world.have(0, 1000) && world.all_flushed(); }));
  expect_clean(world);
  EXPECT_LE(world[0].lanes.counters().multicast_lost, 2u);
}

TEST(LaneFault, a_member_that_opens_late_gets_all_and_is_not_lost) {
  for (const std::int64_t late_ms : {1, 40, 3000}) {
    LaneWorldConfig config = small(4);
    config.all_open = false;
    LaneWorld world(config);
    for (PeerId id = 0; id < 3; ++id) world[id].open(1, {0, 1, 2, 3});
    world.forwards = [&](PeerId, PeerId to) { return world[to].ids.count(1) != 0; };
    world[0].cast(1, 600, 0);
    world[1].cast(1, 2, 8);
    world.run(milliseconds(late_ms));
    EXPECT_LE((world[2].expected[{1, 0}]), config.lanes.window_packets);
    world[3].open(1, {0, 1, 2, 3});
    world.settle(3);
    const Instant opened = world.now();
    ASSERT_TRUE(world.run(milliseconds(5000), [&] {
      return world.have(0, 600) && world.have(1, 2) && world.all_flushed();
    })) << late_ms;
    EXPECT_LE((world.now() - opened).ns, milliseconds(150).ns);
    expect_clean(world);
  }
}

TEST(LaneFault, early_casts_are_kept_within_a_bound) {
  LaneWorldConfig config = small(2);
  config.all_open = false;
  config.lanes.kept_bytes = 64 << 10;
  LaneWorld world(config);
  for (std::uint64_t lane = 1; lane <= 40; ++lane) {
    world[0].open(lane, {0, 1});
    world[0].cast(lane, 20, 0);
  }
  world.run(milliseconds(100));
  EXPECT_GT(world[1].lanes.buffered_bytes(), 0u);
  EXPECT_LE(world[1].lanes.buffered_bytes(), config.lanes.kept_bytes / 4);
  for (std::uint64_t lane = 1; lane <= 40; ++lane) world[1].open(lane, {0, 1});
  world.settle(1);
  ASSERT_TRUE(world.run(milliseconds(5000), [&] { return world[1].got == 800 && world.all_flushed(); }));
  expect_clean(world);
}

TEST(LaneFault, a_dead_member_is_reported_and_the_others_go_on) {
  for (const int nodes : {2, 5, 24}) {
    LaneWorld world(small(nodes));
    world[0].cast(1, 200, 0);
    ASSERT_TRUE(world.run(milliseconds(1000), [&] { return world.have(0, 200); }));
    world[1].dead = true;
    const Instant died = world.now();
    world[0].cast(1, 2000, 0);
    ASSERT_TRUE(world.run(milliseconds(5000), [&] { return world.have(0, 2200) && world.all_flushed(); }))
        << nodes;
    EXPECT_EQ(world[0].lost, std::vector<PeerId>{1}) << nodes;
    EXPECT_LE((world.now() - died).ns, milliseconds(1200).ns) << nodes;
    EXPECT_EQ(world[0].lanes.buffered_bytes(), 0u);
  }
}

TEST(LaneFault, time_in_which_all_processes_were_stopped_is_not_silence) {
  LaneWorld world(small(5));
  world[0].cast(1, 20, 0);
  ASSERT_TRUE(world.run(milliseconds(1000), [&] { return world.have(0, 20) && world.all_flushed(); }));
  world.cut = [](PeerId, PeerId) { return true; };
  world[0].cast(1, 20, 0);
  world.run(milliseconds(300));
  world.freeze(milliseconds(60'000));
  world.cut = nullptr;
  EXPECT_TRUE(world.run(milliseconds(1000), [&] { return world.have(0, 40) && world.all_flushed(); }));
  EXPECT_TRUE(world[0].lost.empty());
}

TEST(LaneFault, a_forgotten_member_delays_no_other) {
  LaneWorld world(small(3));
  world[2].dead = true;
  world[0].cast(1, 1000, 0);
  world.run(milliseconds(20));
  EXPECT_FALSE(world.have(0, 1000));
  world[0].lanes.forget_peer(2);
  world.settle(0);
  ASSERT_TRUE(world.run(milliseconds(1000), [&] { return world.have(0, 1000) && world.all_flushed(); }));
  EXPECT_TRUE(world[0].lost.empty());
}

TEST(LaneFault, a_lane_that_is_closed_at_one_end_is_flushed_at_the_other) {
  LaneWorld world(small(3));
  world[0].cast(1, 10, 0);
  ASSERT_TRUE(world.run(milliseconds(1000), [&] { return world.have(0, 10); }));
  world[1].lanes.close(world[1].ids[1]);  // has not acknowledged yet
  world[2].lanes.close(world[2].ids[1]);
  ASSERT_TRUE(world.run(milliseconds(400), [&] { return world.all_flushed(); }));
  EXPECT_TRUE(world[0].lost.empty());
}

// A source may free a communicator as soon as its last cast has left.
TEST(LaneFault, a_source_that_closes_still_repairs_its_casts) {
  for (const double loss : {0.0, 0.3}) {
    LaneWorldConfig config = small(5);
    config.loss = loss;
    LaneWorld world(config);
    for (PeerId id = 0; id < 5; ++id) world[id].cast(1, 20, 0);
    ASSERT_TRUE(world.run(milliseconds(1000), [&] { return world[0].got == 80; }));
    const LaneId lane = world[0].ids[1];
    world[0].lanes.close(lane);
    EXPECT_TRUE(world[0].lanes.room(lane, 1).empty());
    ASSERT_TRUE(world.run(milliseconds(3000), [&] {
      bool all = true;
      for (PeerId id = 0; id < 5; ++id) all = all && world.have(id, 20);
      return all && world.all_flushed();
    }));
    expect_clean(world);
  }
}

TEST(LaneFault, a_lane_opened_with_a_lost_member_does_not_wait_for_it) {
  LaneWorld world(small(3));
  world[2].dead = true;
  world[0].lanes.forget_peer(2);
  world[1].lanes.forget_peer(2);
  for (PeerId id = 0; id < 2; ++id) world[id].open(9, {0, 1, 2});
  world[0].cast(9, 10, 0);
  ASSERT_TRUE(world.run(milliseconds(50), [&] { return world[1].got == 10 && world.all_flushed(); }));
  EXPECT_TRUE(world[0].lost.empty());
}

TEST(LaneFault, memory_of_the_incomplete_stream_of_a_lost_member_is_released) {
  LaneWorld world(small(3));
  int casts = 0;
  world.drop = [&](PeerId from, PeerId to, std::span<const std::byte>) {
    return from == 0 && to == 1 && ++casts == 2;
  };
  world[0].cast(1, 10, 0);
  world.run(microseconds(60));  // the second packet is missing; no NAK has left yet
  world[0].dead = true;
  ASSERT_TRUE(world.run(milliseconds(50), [&] { return world[2].got == 10; }));
  EXPECT_NE(world[1].lanes.buffered_bytes(), 0u);
  world[1].lanes.forget_peer(0);
  EXPECT_EQ(world[1].lanes.buffered_bytes(), 0u);
}

// The lane is closed while its packet is delivered.
TEST(LaneFault, a_listener_may_close_the_lane_that_delivers_to_it) {
  LaneWorld world(small(3));
  world[1].on_packet = [&](std::uint64_t, PeerId) {
    if (world[1].got == 5) world[1].lanes.close(world[1].ids[1]);
  };
  world[0].cast(1, 10, 0);
  ASSERT_TRUE(world.run(milliseconds(400), [&] { return world.all_flushed(); }));
  EXPECT_EQ(world[1].got, 5u);
  EXPECT_EQ(world[1].lanes.buffered_bytes(), 0u);
  EXPECT_EQ(world[2].got, 10u);
  EXPECT_TRUE(world[0].lost.empty());
}

// A member with corrupt memory sends anything, with a valid tag.
TEST(LaneFault, nonsense_with_a_valid_tag_breaks_only_its_own_stream) {
  for (const int nodes : {3, 20}) {
    LaneWorldConfig config = small(nodes);
    config.mesh.give_up = milliseconds(100'000);
    LaneWorld world(config);
    Prng chance(5);
    const std::size_t sizes[] = {0, 20, 40, 20, 12};
    for (int i = 0; i < static_cast<int>(some_of(30'000)); ++i) {
      if (i % 100 == 0) world[0].cast(1, 1 + chance.below(40), 0);
      const auto kind = static_cast<std::uint8_t>(5 + chance.below(4));
      std::vector<std::byte> body(sizes[kind - 4] + (kind == 7 ? 4 * chance.below(6) : 0));
      const bool wild = chance.below(4) == 0;
      for (auto& byte : body) byte = static_cast<std::byte>(wild ? chance.next() : chance.below(4));
      const std::uint64_t name = 1;
      std::memcpy(body.data(), &name, sizeof name);
      const std::uint32_t source = chance.below(8) == 0 ? 1 : 0;
      if (kind == 6 || kind == 7) std::memcpy(body.data() + 8, &source, sizeof source);
      if (kind == 7)
        for (std::size_t at = 19; at < body.size(); at += 4) body[at] = body[at] & std::byte{3};
      const auto seq = static_cast<std::uint32_t>(wild ? chance.next() : 0xffffff80 + chance.below(3000));
      constexpr std::uint8_t kFlags[] = {8 | 16, 64 | 32, 64, 8 | 16};
      const auto flags = static_cast<std::uint8_t>(chance.next() & kFlags[kind - 5]);
      const bool without_lane = kind == 6 && (flags & wire::kFlagNotOpen) != 0;
      world.inject(chance.below(2) == 0 ? 0 : 2, static_cast<wire::DatagramKind>(kind), flags, 1,
                   without_lane ? seq : LaneNumbers::new_cast(0, seq), body);
      if (i % 50 == 0) world.run(microseconds(200));
    }
    world.run(milliseconds(2000));
    EXPECT_EQ(world.sum().forged, 0u);
    for (PeerId id = 2; id < nodes;
         ++id) {  // the corrupt member may acknowledge packets that it does not have
      EXPECT_EQ((world[id].expected[{1, 0}]), world[0].flows[world[0].ids[1]].next) << id;
      EXPECT_EQ(world[id].wrong - (id == 2 ? world[2].expected[{1, 1}] : 0), 0u) << id;
    }
  }
}

TEST(LaneFault, datagrams_of_strangers_and_of_the_mesh_are_refused) {
  LaneWorld world(small(2));
  std::vector<std::byte> datagram(60);
  datagram[0] = std::byte{wire::kDatagramVersion};
  datagram[1] = std::byte{1};  // of the mesh
  EXPECT_FALSE(world[0].lanes.on_datagram(world.now(), false, datagram));
  EXPECT_EQ(world.sum().malformed + world.sum().forged, 0u);
  datagram[1] = std::byte{6};
  datagram[3] = std::byte{7};
  EXPECT_FALSE(world[0].lanes.on_datagram(world.now(), false, datagram));
  EXPECT_EQ(world.sum().forged, 1u);
  datagram[2] = std::byte{1};
  EXPECT_FALSE(world[0].lanes.on_datagram(world.now(), false, datagram));
  EXPECT_EQ(world.sum().malformed, 1u);
}

}  // namespace
}  // namespace herald::rel
