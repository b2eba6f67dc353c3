// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: the judgement over a simulated job finds everything good, whatever happened. Here it
// is lied to: packets are changed, lost, swapped or doubled behind the reliable channel's back, a message is
// never received, a process wakes for nothing. Each must be found out, and the honest job found good.
#include <gtest/gtest.h>

#include "sim/job/job.hpp"
#include "sim/job/scenario.hpp"

namespace herald::sim {
namespace {

// Rows of short messages and some long ones, from process 1 to process 0.
Setup small_job() {
  sim::Setup setup;
  setup.net.hosts = 2;
  setup.script.name = "test";
  setup.script.steps.resize(2);
  for (std::uint32_t i = 0; i < 24; ++i) {
    const std::uint64_t bytes = i % 5 == 4 ? 40'000 : 32 + i;
    setup.script.sends.push_back({1, 0, 1, 1, bytes, p2p::SendMode::standard});
    setup.script.receives.push_back({0, 1, 1, 1, 40'000, false});
    setup.script.steps[1].push_back({Do::send, i});
    setup.script.steps[0].push_back({Do::receive, i});
  }
  for (auto& steps : setup.script.steps) steps.push_back({Do::wait_all});
  setup.limit = milliseconds(500);
  return setup;
}

bool says(const Result& result, const char* words) {
  for (const std::string& each : result.wrong)
    if (each.find(words) != std::string::npos) return true;
  return false;
}

std::string all(const Result& result) {
  std::string out;
  for (const std::string& each : result.wrong) out += each + "\n";
  return out;
}

TEST(SimJob, an_honest_job_is_good) {
  const Result result = run_job(small_job());
  EXPECT_TRUE(result.good()) << all(result);
  EXPECT_GT(result.net.delivered, 20u);
}

TEST(SimJob, a_wrong_byte_is_seen) {
  sim::Setup setup = small_job();
  setup.process.tap.corruption = Corruption::flip;
  const Result result = run_job(setup);
  EXPECT_TRUE(says(result, "is wrong")) << all(result);
}

TEST(SimJob, a_packet_that_vanishes_is_seen) {
  sim::Setup setup = small_job();
  setup.process.tap.corruption = Corruption::drop;
  EXPECT_FALSE(run_job(setup).good());
}

TEST(SimJob, packets_out_of_order_are_seen) {
  sim::Setup setup = small_job();
  setup.process.tap.corruption = Corruption::swap;
  EXPECT_FALSE(run_job(setup).good());
}

TEST(SimJob, a_packet_that_comes_twice_is_seen) {
  sim::Setup setup = small_job();
  setup.process.tap.corruption = Corruption::twice;
  EXPECT_FALSE(run_job(setup).good());
}

TEST(SimJob, a_message_that_nobody_receives_is_seen) {
  sim::Setup setup = small_job();
  setup.script.receives.pop_back();
  setup.script.steps[0].erase(setup.script.steps[0].end() - 2);
  const Result result = run_job(setup);
  EXPECT_TRUE(says(result, "never received")) << all(result);
  EXPECT_TRUE(says(result, "leak")) << all(result);
}

TEST(SimJob, a_receive_that_finds_nothing_is_a_stall) {
  sim::Setup setup = small_job();
  setup.script.steps[1].erase(setup.script.steps[1].begin() + 3);
  const Result result = run_job(setup);
  EXPECT_TRUE(says(result, "stall")) << all(result);
}

TEST(SimJob, turns_for_nothing_are_seen) {
  sim::Setup setup = small_job();
  setup.process.twitch = microseconds(2);
  setup.script.steps[0].insert(setup.script.steps[0].begin(), {Do::rest, 0, milliseconds(20)});
  const Result result = run_job(setup);
  EXPECT_TRUE(says(result, "busy timers")) << all(result);
}

TEST(SimJob, a_host_that_dies_is_lost_to_those_who_need_it_and_to_nobody_else) {
  sim::Setup setup;
  setup.net.hosts = 3;
  setup.script.steps.resize(3);
  setup.script.sends.push_back({1, 0, 1, 1, 4 << 20, p2p::SendMode::standard});
  setup.script.sends.push_back({2, 0, 1, 1, 4 << 20, p2p::SendMode::standard});
  for (std::uint32_t i = 0; i < 2; ++i) {
    const auto from = static_cast<std::int32_t>(i + 1);
    setup.script.receives.push_back({0, 1, from, 1, 4 << 20, false});
    setup.script.steps[0].push_back({Do::receive, i});
    setup.script.steps[i + 1] = {{Do::send, i}, {Do::wait_all}};
  }
  setup.script.steps[0].push_back({Do::wait_all});
  setup.dies = 1;
  setup.death = Instant{10'000'000};
  setup.process.mesh.give_up = milliseconds(5000);
  setup.trouble_ends = setup.death + setup.process.mesh.give_up;
  setup.limit = milliseconds(3000);
  const Result result = run_job(setup);
  EXPECT_TRUE(result.good()) << all(result);
  EXPECT_EQ(result.mesh.peers_lost, 2u);  // process 2 noticed, too, but needs nothing from it
  EXPECT_GT(result.finished, setup.death + milliseconds(1000));  // after some patience
}

// A host that is away for just the detection time is asked again before it is given up.
TEST(SimJob, a_partition_of_five_seconds_heals) {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    sim::Setup setup;
    ASSERT_TRUE(make_setup("none", seed, setup));
    ASSERT_EQ(setup.process.mesh.give_up.ns, milliseconds(5000).ns);
    std::vector<std::uint8_t> sides(static_cast<std::size_t>(setup.net.hosts), 0);
    sides[seed % sides.size()] = 1;
    const Instant begin{static_cast<std::int64_t>(200'000 * seed)};
    setup.plan.push_back({begin, "partition", [sides](Net& net) { net.fabric().partition(sides); }});
    setup.trouble_ends = begin + milliseconds(5000);
    setup.plan.push_back(
        {setup.trouble_ends, "the partition heals", [](Net& net) { net.fabric().partition({}); }});
    const Result result = run_job(setup);
    EXPECT_TRUE(result.good()) << "seed " << seed << ": " << all(result);
    EXPECT_EQ(result.mesh.peers_lost, 0u) << "seed " << seed;
  }
}

TEST(SimJob, bulk_frames_are_used_and_resumed_after_connections_break) {
  std::uint64_t bytes = 0, resumed = 0;
  for (std::uint64_t seed = 1; seed <= 30; ++seed) {
    sim::Setup setup;
    ASSERT_TRUE(make_setup("bulk+none", seed, setup));
    const Result result = run_job(setup);
    EXPECT_TRUE(result.good()) << "seed " << seed << ": " << all(result);
    bytes += result.bulk_bytes;
    resumed += result.bulk_resumed;
  }
  EXPECT_GT(bytes, 300'000u);
  EXPECT_GT(resumed, 5u);
}

// Packets that are sent again though they had come cost the line and others their turn.
TEST(SimJob, udp_that_is_blocked_for_good_is_replaced_by_tcp) {
  for (const Instant blocked : {Instant{}, Instant{500'000}}) {
    sim::Setup setup = small_job();
    setup.plan.push_back({blocked, "UDP is blocked", [](Net& net) { net.fabric().partition({0, 1}); }});
    setup.process.mesh.give_up = milliseconds(5000);
    setup.limit = milliseconds(2000);
    const Result without = run_job(setup);
    EXPECT_FALSE(without.good());
    EXPECT_EQ(without.tcp_datagrams, 0u);
    setup.tcp = true;
    const Result with = run_job(setup);
    EXPECT_TRUE(with.good()) << all(with);
    EXPECT_GT(with.tcp_datagrams, 3u);
    EXPECT_LT(with.finished, Instant{} + milliseconds(1000));
  }
}

TEST(SimJob, little_is_sent_in_vain) {
  const auto in_vain = [](const char* scenario) {
    double sent = 0, vain = 0;
    for (std::uint64_t seed = 1; seed <= 60; ++seed) {
      sim::Setup setup;
      EXPECT_TRUE(make_setup(scenario, seed, setup));
      const Result result = run_job(setup);
      const NetCounters& net = result.net;
      const std::uint64_t gone = net.lost + net.nic_full + net.port_full + net.socket_full + net.cut_off;
      sent += static_cast<double>(result.mesh.sent);
      vain += static_cast<double>(result.mesh.resent) - static_cast<double>(gone);
    }
    return vain / sent;
  };
  EXPECT_LT(in_vain("none"), 0.04);
  EXPECT_LT(in_vain("reorder"), 0.25);
}

// A way that is never gone shows nothing.
TEST(SimJob, the_ways_of_lanes_are_gone) {
  const auto sum_of = [](const char* scenario) {
    Result sum;
    for (std::uint64_t seed = 1; seed <= 40; ++seed) {
      sim::Setup setup;
      EXPECT_TRUE(make_setup(scenario, seed, setup)) << scenario;
      const Result result = run_job(setup);
      EXPECT_TRUE(result.good()) << scenario << ", seed " << seed << ": " << all(result);
      sum.lanes.go_backs += result.lanes.go_backs;
      sum.lanes.suspended += result.lanes.suspended;
      sum.lanes.address_changes += result.lanes.address_changes;
      sum.lanes.foreign += result.lanes.foreign;
      sum.parts += result.parts;
    }
    return sum;
  };
  EXPECT_GT(sum_of("lane-simple+lane-loss").lanes.go_backs, 100u);
  EXPECT_GT(sum_of("lane-push-pull+lane-loss").lanes.suspended, 100u);
  EXPECT_GT(sum_of("lane-moves+lane-none").lanes.address_changes, 20u);
  EXPECT_GT(sum_of("lane-moves+lane-none").lanes.foreign, 1000u);
  EXPECT_GT(sum_of("lane-parts+lane-none").parts, 100u);
  EXPECT_EQ(sum_of("lane-none").parts + sum_of("lane-none").lanes.address_changes, 0u);
}

TEST(SimJob, the_same_seed_gives_the_same_history_in_every_scenario) {
  for (const Named& each : troubles()) {
    sim::Setup first, second, other;
    ASSERT_TRUE(make_setup(each.name, 5, first));
    ASSERT_TRUE(make_setup(each.name, 5, second));
    ASSERT_TRUE(make_setup(each.name, 6, other));
    const std::uint64_t history = run_job(first).history;
    EXPECT_EQ(history, run_job(second).history) << each.name;
    EXPECT_NE(history, run_job(other).history) << each.name;
  }
  sim::Setup setup;
  EXPECT_FALSE(make_setup("no such", 1, setup));
}

}  // namespace
}  // namespace herald::sim
