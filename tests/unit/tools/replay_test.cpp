// SPDX-License-Identifier: BSD-3-Clause
// Timelines as programs: what a collective sends counted as messages of the program, a wait counted as
// computation, and changes of the network that change the wrong parameters.
#include "replay/replay.hpp"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

namespace herald::tools {
namespace {

using Kind = model::Action::Kind;

// Rank 0: computes 10 us, sends in a call of 2 us, computes 5 us, waits 8 us in MPI_Allreduce by a message.
Timeline made() {
  Timeline line;
  const auto call = [&](const char* name, double at, double dur, const char* what = "call") {
    line.events.push_back({{"name", name}, {"cat", what}, {"ph", "X"}, {"tid", 0}, {"ts", at}, {"dur", dur}});
  };
  const auto event = [&](const char* name, const char* phase, double at, const char* id, Json args) {
    line.events.push_back({{"name", name},
                           {"cat", name},
                           {"ph", phase},
                           {"tid", 0},
                           {"ts", at},
                           {"id", id},
                           {"args", std::move(args)}});
  };
  line.events = Json::array();
  event("send", "b", 10.5, "1", {{"to", 1}, {"bytes", 64}, {"tag", 3}});
  event("send", "e", 11, "1", {{"status", 0}});
  call("MPI_Send", 10, 2);
  event("communicator", "i", 17, "", {{"communicator", 9}, {"rank", 4}, {"size", 8}});
  event("collective", "b", 18, "2", {{"operation", "allreduce"}, {"algorithm", "doubling"}, {"number", 1}});
  event("collective call", "i", 18, "", {{"bytes", 800}, {"communicator", 9}, {"root", -1}});
  event("receive", "b", 18.5, "3", {{"from", 1}, {"room", 800}, {"tag", 256}});
  event("receive", "e", 25, "3", {{"from", 1}, {"bytes", 800}, {"tag", 256}});
  event("collective", "e", 26, "2", {{"error", 0}});
  call("wait", 19, 7.5, "wait");
  call("MPI_Allreduce", 17, 10);
  call("MPI_Finalize", 30, 5);
  return line;
}

TEST(Replay, a_timeline_becomes_computation_operations_and_waits) {
  const RankLine rank = read_rank(made(), 0);
  EXPECT_DOUBLE_EQ(rank.end_ns, 30000);
  ASSERT_EQ(rank.operations.size(), 2u);  // the message of the collective is a part of it
  EXPECT_EQ(rank.operations[1].bytes, 800);
  EXPECT_EQ(rank.rank_in.at(9), 4);
  std::vector<std::pair<Kind, double>> got;
  for (const RankLine::Mark& mark : rank.marks) got.emplace_back(mark.kind, mark.ns);
  const std::vector<std::pair<Kind, double>> want = {
      {Kind::compute, 10000}, {Kind::overhead, 500},  {Kind::send, 0},        {Kind::overhead, 500},
      {Kind::await_send, 0},  {Kind::overhead, 1000}, {Kind::compute, 5000},  {Kind::overhead, 1000},
      {Kind::join, 0},        {Kind::await_join, 0},  {Kind::overhead, 1000}, {Kind::compute, 3000}};
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < want.size(); ++i) {
    EXPECT_EQ(got[i].first, want[i].first) << i;
    EXPECT_NEAR(got[i].second, want[i].second, 0.01) << i;
  }
}

TEST(Replay, changes_are_read_strictly) {
  const WhatIf change =
      parse_what_if("rate=10gbit,latency=/2,hosts=32,cpu=x2,buffer=64k,allreduce=ring,bcast=auto");
  EXPECT_EQ(change.rate_mbit, 10000);
  EXPECT_EQ(change.latency_times, 0.5);
  EXPECT_EQ(change.hosts, 32);
  EXPECT_EQ(change.processors, 2);
  EXPECT_EQ(change.buffer_bytes, 65536);
  EXPECT_EQ(change.algorithms.at(coll::Op::allreduce), "ring");
  for (const char* wrong :
       {"rate", "rate=", "rate=10", "rate=-1gbit", "rate=x0", "hosts=0", "hosts=2.5", "cpu=2", "speed=x2",
        "allreduce=fastest", "coll=best", "latency=5", "rate=10gbit,,", "=3"})
    EXPECT_THROW((void)parse_what_if(wrong), CLI::ValidationError) << wrong;
}

TEST(Replay, a_faster_link_changes_the_wire_and_no_processor) {
  const model::Parameters slow = model::default_parameters(1e8, 4);
  const model::Parameters fast = changed(slow, parse_what_if("rate=1gbit"));
  const model::PathParameters &a = slow.of(model::Path::udp), &b = fast.of(model::Path::udp);
  EXPECT_NEAR(b.recv_gap.slope_at(1 << 18), 8.9, 0.1);
  EXPECT_EQ(b.latency.at(0), a.latency.at(0));
  EXPECT_EQ(b.send_overhead, a.send_overhead);
  EXPECT_EQ(fast.of(model::Path::shm), slow.of(model::Path::shm));
  EXPECT_EQ(changed(slow, parse_what_if("latency=1us")).of(model::Path::udp).latency.at(0), 1000);
}

}  // namespace
}  // namespace herald::tools
