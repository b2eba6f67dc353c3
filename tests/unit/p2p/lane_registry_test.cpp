// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong with the lanes that a process keeps: a group joined and never left, or left while a
// lane is there; members that look for each other at different addresses; a sub-lane that members which
// are not concerned open too, that outlives the whole, its maker, or its end; a call that lies.
#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <vector>

#include "p2p/lane_registry.hpp"

namespace herald::p2p {
namespace {

class Registries;

// A process: everything but sockets.
class Registry final : LaneGroups {
 public:
  Registry(Registries& all, PeerId me, int peers, std::size_t most_groups);

  bool join(const group::Address& group) noexcept override {
    if (joined.count(group) == 0 && joined.size() >= most_groups) return false;
    ++joined[group];
    return true;
  }
  void leave(const group::Address& group) noexcept override {
    ASSERT_GT(joined[group], 0);
    if (--joined[group] == 0) joined.erase(group);
  }
  void on_shared() noexcept override { ++shared; }
  void on_strangers() noexcept override { ++strangers; }
  std::size_t joins() const {
    std::size_t sum = 0;
    for (const auto& [group, times] : joined) sum += static_cast<std::size_t>(times);
    return sum;
  }

  const PeerId me;
  std::size_t most_groups;
  std::map<group::Address, int> joined;
  int shared = 0, strangers = 0;
  Core core;
  LaneCarrier carrier;
  Prng prng;
  rel::Lanes lanes;
  LaneRegistry registry;
};

// Several of them, joined by a network that loses nothing and takes a microsecond.
class Registries {
 public:
  explicit Registries(int count, std::size_t most_groups = 20) {
    for (PeerId me = 0; me < count; ++me)
      nodes.push_back(std::make_unique<Registry>(*this, me, count, most_groups));
  }
  Registry& operator[](PeerId me) { return *nodes[static_cast<std::size_t>(me)]; }
  std::vector<PeerId> everybody() const {
    std::vector<PeerId> all;
    for (const auto& node : nodes) all.push_back(node->me);
    return all;
  }
  // A lane of all, whose numbers are the same everywhere.
  rel::LaneId open(std::uint64_t name) {
    rel::LaneId lane = -1;
    for (const auto& node : nodes) lane = node->registry.open(name, everybody());
    return lane;
  }
  // Turns of all, as the engine takes them.
  void run(Duration time) {
    for (const Instant end = now + time; now < end; now = now + microseconds(50))
      for (const auto& node : nodes) turn(*node);
  }
  void turn(Registry& one) {
    one.registry.answer_calls();
    one.lanes.on_deadline(now);
    one.registry.leave_old(now);
    one.registry.turn(now);
    (void)one.registry.take_stirred();
    (void)one.carrier.pump_ready();
    auto batch = std::make_unique<rel::TxBatch>();
    while (one.lanes.poll_transmit(now, *batch) != 0)
      for (std::size_t i = 0; i < batch->count; ++i) send(one, batch->entries[i]);
  }
  void send(Registry& from, const rel::Tx& tx) {
    if (tx.to >= 0) {
      (*this)[tx.to].lanes.on_datagram(now, false, tx.datagram);
      return;
    }
    const group::Address group = from.registry.group_of(rel::Lanes::lane_of(tx.to));
    for (const auto& node : nodes)
      if (node.get() != &from && node->joined.count(group) != 0)
        node->lanes.on_datagram(now, true, tx.datagram);
  }

  group::Pool pool;
  Instant now{1'000'000'000};
  std::vector<std::unique_ptr<Registry>> nodes;
};

rel::LanesConfig lanes_config(PeerId me, int peers) {
  rel::LanesConfig config;
  config.me = me;
  config.peers = peers;
  config.seal = {{1, 2}, 3};
  return config;
}

Registry::Registry(Registries& all, PeerId me_, int peers, std::size_t most_groups_)
    : me(me_),
      most_groups(most_groups_),
      core(CoreConfig{.peers = peers, .me = me_}),
      carrier(core),
      prng(static_cast<std::uint64_t>(me_) + 1),
      lanes(lanes_config(me_, peers), prng, carrier),
      registry(me_, peers, core, carrier, lanes) {
  carrier.join(lanes);
  registry.use(all.pool, this);
}

TEST(LaneRegistry, groups_are_left_as_often_as_they_were_joined) {
  Registries all(3);
  const rel::LaneId one = all.open(10), other = all.open(11);
  for (const auto& node : all.nodes) {
    EXPECT_EQ(node->registry.group_of(one), all[0].registry.group_of(one));
    EXPECT_EQ(node->joins(), node->registry.joins());
    EXPECT_EQ(node->joins(), 3u);  // and the one that all may share
  }
  for (const auto& node : all.nodes) {
    node->registry.close(one);
    node->registry.close(other);
    EXPECT_EQ(node->joins(), 1u);
  }
}

TEST(LaneRegistry, a_member_without_free_groups_moves_all_to_the_shared_address) {
  Registries all(3);
  all[1].most_groups = 1;
  const rel::LaneId lane = all.open(10);
  EXPECT_EQ(all[1].shared, 1);
  const std::vector<PeerId> two = {0, 1};
  ASSERT_GE(all[1].registry.open_sub_lane(lane, two), 0);  // something to cast: the others hear of the move
  all.run(milliseconds(50));
  const group::Address shared = group::address_of(all.pool, 10, group::kSharedAddressIndex);
  for (const auto& node : all.nodes) EXPECT_EQ(node->registry.group_of(lane), shared) << node->me;
  all.run(milliseconds(2100));  // the old address is heard for two seconds more
  for (const auto& node : all.nodes) {
    node->registry.close(lane);
    EXPECT_EQ(node->joins(), node->registry.joins()) << node->me;
  }
}

TEST(LaneRegistry, foreign_datagrams_make_a_lane_move_and_members_follow) {
  Registries all(3);
  const rel::LaneId lane = all.open(10), apart = all.open(17);
  const group::Address before = all[0].registry.group_of(lane), other = all[0].registry.group_of(apart);
  ASSERT_NE(before, other);
  for (std::uint32_t i = 0; i <= group::ForeignTraffic::kMany; ++i)
    all[0].registry.on_foreign(all.now, before);
  EXPECT_EQ(all[0].strangers, 1);
  ASSERT_GE(all[0].registry.open_sub_lane(lane, all.everybody()), 0);
  all.run(milliseconds(50));
  for (const auto& node : all.nodes) {
    EXPECT_NE(node->registry.group_of(lane), before) << node->me;
    EXPECT_EQ(node->registry.group_of(lane), all[0].registry.group_of(lane)) << node->me;
    EXPECT_EQ(node->registry.group_of(apart), other) << node->me;
    EXPECT_EQ(node->joined.count(before), 1u);  // for members that have not followed yet
  }
  all.run(milliseconds(2100));
  for (const auto& node : all.nodes) EXPECT_EQ(node->joined.count(before), 0u) << node->me;
}

TEST(LaneRegistry, only_invited_members_open_a_sub_lane_and_close_it_when_dismissed) {
  Registries all(4);
  const rel::LaneId whole = all.open(10);
  const std::vector<PeerId> some = {0, 2};
  const rel::LaneId part = all[0].registry.open_sub_lane(whole, some);
  ASSERT_GE(part, 0);
  EXPECT_TRUE(all[0].registry.is_sub_lane(part));
  all.run(milliseconds(20));
  EXPECT_EQ(all[2].registry.invited(), 1u);
  EXPECT_EQ(all[1].registry.invited() + all[3].registry.invited() + all[0].registry.invited(), 0u);
  all[0].registry.close_sub_lane(part);
  all.run(milliseconds(20));
  EXPECT_FALSE(all[0].registry.is_ending());
  for (const auto& node : all.nodes) {
    EXPECT_EQ(node->registry.invited(), 0u) << node->me;
    EXPECT_EQ(node->joins(), 2u) << node->me;
  }
}

TEST(LaneRegistry, a_sub_lane_closes_with_its_lane_and_with_its_owner) {
  Registries all(3);
  const rel::LaneId whole = all.open(10);
  ASSERT_GE(all[0].registry.open_sub_lane(whole, all.everybody()), 0);
  all.run(milliseconds(20));
  EXPECT_EQ(all[1].registry.invited(), 1u);
  all[1].registry.forget(0);  // its maker has died
  EXPECT_EQ(all[1].registry.invited(), 0u);
  EXPECT_EQ(all[1].joins(), all[1].registry.joins());
  EXPECT_EQ(all[2].registry.invited(), 1u);
  all[2].registry.close(whole);
  EXPECT_EQ(all[2].registry.invited(), 0u);
  EXPECT_EQ(all[2].joins(), 1u);
}

TEST(LaneRegistry, a_malformed_invitation_opens_nothing) {
  Registries all(3);
  const rel::LaneId whole = all.open(10);
  constexpr std::uint64_t kPart = std::uint64_t{1} << 63;
  const std::vector<PeerId> doubled = {0, 1, 1}, without_maker = {1, 2}, strange = {0, 1, 7};
  const auto lie = [&](std::uint64_t name, std::span<const PeerId> members) {
    ASSERT_TRUE(all[0].carrier.invite(whole, name, members));
  };
  lie(kPart | std::uint64_t{2} << 32, all.everybody());  // in another's name
  lie(12, all.everybody());                              // a communicator's
  lie(kPart | 1, doubled);
  lie(kPart | 2, without_maker);
  lie(kPart | 3, strange);
  all.run(milliseconds(20));
  EXPECT_EQ(all[1].registry.invited() + all[2].registry.invited(), 0u);
  lie(kPart | 4, all.everybody());
  lie(kPart | 4, all.everybody());  // the same again
  all.run(milliseconds(20));
  EXPECT_EQ(all[1].registry.invited(), 1u);
}

}  // namespace
}  // namespace herald::p2p
