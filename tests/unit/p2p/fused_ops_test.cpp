// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a part or a result comes to the wrong place of the program's memory, or beyond it; a
// call that does not match the others ends the program, or goes unnoticed; calls that begin in any order wait
// for each other for ever.
#include "p2p/fused_ops.hpp"

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <utility>
#include <vector>

#include "base/prng.hpp"
#include "p2p/lane_carrier.hpp"

namespace herald::p2p {
namespace {

constexpr PeerId kNodes = 3;

struct Node {
  explicit Node(PeerId me)
      : core({.peers = kNodes, .me = me}), carrier(core), lanes(config(me), prng, carrier) {
    carrier.join(lanes);
    const PeerId all[kNodes] = {0, 1, 2};
    lane = lanes.open(1, all);
  }
  static rel::LanesConfig config(PeerId me) {
    rel::LanesConfig config;
    config.me = me;
    config.peers = kNodes;
    return config;
  }
  Prng prng{1};
  Core core;
  LaneCarrier carrier;
  rel::Lanes lanes;
  FusedOps fused_ops{core, lanes};
  rel::LaneId lane = -1;
  bool arrived = false;
};

class FusedExchanges : public ::testing::Test {
 protected:
  FusedExchanges() {
    for (PeerId id = 0; id < kNodes; ++id) nodes_.push_back(std::make_unique<Node>(id));
  }
  // Starts a step at a node, with this memory.
  void start(PeerId id, FusedOp& op, FusedStep step, std::vector<int>& data, std::size_t items) {
    op.step = step;
    op.lane = node(id).lane;
    op.number = number_;
    op.members = kNodes;
    op.data = type::Cursor::bytes(data.data(), items * sizeof(int));
    node(id).fused_ops.start(now_, op);
  }
  void start(PeerId id, FusedOp& op, FusedStep step, std::vector<int>& data) {
    start(id, op, step, data, data.size());
  }
  Node& node(PeerId id) { return *nodes_[static_cast<std::size_t>(id)]; }
  // All that is on its way arrives; nodes look when something has come.
  void deliver() {
    for (bool moved = true; moved;) {
      moved = false;
      for (PeerId id = 0; id < kNodes; ++id) {
        while (node(id).lanes.poll_transmit(now_, batch_) != 0) {
          moved = true;
          for (std::size_t i = 0; i < batch_.count; ++i) hand_on(id, batch_.entries[i]);
        }
      }
      for (PeerId id = 0; id < kNodes; ++id)
        if (std::exchange(node(id).arrived, false)) node(id).fused_ops.look();
    }
  }
  const Instant now_{1'000'000};
  std::uint32_t number_ = 0;  // of the next fused exchange

 private:
  void hand_on(PeerId from, const rel::Tx& tx) {
    for (PeerId to = 0; to < kNodes; ++to)
      if (to != from && (tx.to < 0 || tx.to == to)) {
        EXPECT_TRUE(node(to).lanes.on_datagram(now_, tx.to < 0, tx.datagram));
        node(to).arrived = true;
      }
  }
  rel::TxBatch batch_;
  std::vector<std::unique_ptr<Node>> nodes_;
};

TEST_F(FusedExchanges, parts_come_to_their_places_and_the_result_to_all) {
  std::vector<int> all(kNodes, -1), one{11}, two{22}, got_one(kNodes + 1, -1), got_two(kNodes, -1);
  FusedOp collect, first, second, tell;
  first.into = type::Cursor::bytes(got_one.data(), kNodes * sizeof(int));
  second.into = type::Cursor::bytes(got_two.data(), kNodes * sizeof(int));
  start(2, second, FusedStep::contribute, two);
  deliver();
  start(0, collect, FusedStep::gather, all);
  deliver();
  EXPECT_FALSE(collect.done);
  start(1, first, FusedStep::contribute, one);
  deliver();
  ASSERT_TRUE(collect.done && !first.done && !second.done);
  EXPECT_EQ(collect.status, Status::ok);
  all[0] = 5;
  start(0, tell, FusedStep::announce, all);
  EXPECT_TRUE(tell.done);
  deliver();
  ASSERT_TRUE(first.done && second.done);
  EXPECT_EQ(first.status, Status::ok);
  EXPECT_EQ(got_one, (std::vector<int>{5, 11, 22, -1}));
  EXPECT_EQ(got_two, (std::vector<int>{5, 11, 22}));
  EXPECT_FALSE(node(1).fused_ops.waits());
}

TEST_F(FusedExchanges, who_sends_more_or_less_than_the_others_is_noticed_and_breaks_nothing) {
  for (const std::size_t items : {0, 2, 64, 65, 5000}) {
    std::vector<int> all(kNodes + 1, -1), one(items, 11), two{22}, got(kNodes + 1, -1);
    std::vector<int> result(items, 7);  // of the wrong length, too
    FusedOp collect, first, second, tell;
    first.into = second.into = type::Cursor::bytes(got.data(), kNodes * sizeof(int));
    start(0, collect, FusedStep::gather, all, kNodes);
    start(1, first, FusedStep::contribute, one);
    start(2, second, FusedStep::contribute, two);
    deliver();
    ASSERT_TRUE(collect.done) << items;
    EXPECT_EQ(collect.status, Status::truncated) << items;
    EXPECT_EQ(all[2], 22);
    EXPECT_EQ(all[3], -1);
    start(0, tell, FusedStep::announce, result);
    deliver();
    ASSERT_TRUE(first.done && second.done) << items;
    EXPECT_EQ(second.status, Status::truncated) << items;
    EXPECT_EQ(got[3], -1) << items;
    ++number_;
  }
}

TEST_F(FusedExchanges, later_calls_that_begin_before_earlier_ones_finish_too) {
  constexpr std::uint32_t kCalls = 24;  // three times as many as a member may have open
  std::vector<int> mine{7};
  std::vector<std::vector<int>> all(kCalls, std::vector<int>(kNodes, 1)), got(2 * kCalls, all[0]);
  std::array<FusedOp, kCalls> collect, tell;
  std::array<FusedOp, 2 * kCalls> give;
  for (number_ = 0; number_ < kCalls; ++number_) start(0, collect[number_], FusedStep::gather, all[number_]);
  for (std::uint32_t i = 0; i < 2 * kCalls; ++i) {
    const PeerId id = i < kCalls ? 1 : 2;
    number_ = id == 1 ? kCalls - 1 - i : i - kCalls;  // node 1 begins with the last
    give[i].into = type::Cursor::bytes(got[i].data(), kNodes * sizeof(int));
    start(id, give[i], FusedStep::contribute, mine);
  }
  std::array<bool, kCalls> told{};
  for (std::uint32_t round = 0; round < kCalls; ++round) {
    deliver();
    for (number_ = 0; number_ < kCalls; ++number_)
      if (collect[number_].done && !std::exchange(told[number_], true))
        start(0, tell[number_], FusedStep::announce, all[number_]);
  }
  for (const FusedOp& op : give) EXPECT_TRUE(op.done) << op.number;
}

}  // namespace
}  // namespace herald::p2p
