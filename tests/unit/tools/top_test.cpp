// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a rank that computes is shown as waiting, or the reverse; a rate is computed over the
// wrong time or from counters that were not written; a view changes on its way from another host; a line
// from another host that is damaged is believed.
#include <gtest/gtest.h>

#include <cstdio>

#include "top/frame.hpp"
#include "watch/view_json.hpp"

namespace herald::tools::top {
namespace {

using watch::RankView;

constexpr std::int64_t kSecond = 1'000'000'000, kNow = 100 * kSecond;

RankView rank(int number, const char* host) {
  RankView view;
  view.rank = number;
  view.size = 4;
  view.pid = 100 + number;
  view.job = "abcd";
  view.host = host;
  view.answered = true;
  view.counted_ns = view.read_ns = kNow;
  return view;
}

void count(RankView& view, RankCounter which, std::uint64_t value) {
  view.counters[static_cast<std::size_t>(which)] = value;
}

void wait_for(RankView& view, const char* call, WaitedKind kind, int peer) {
  ShownWait wait{};
  wait.since_ns = kNow - 3 * kSecond;
  std::snprintf(wait.call.data(), wait.call.size(), "%s", call);
  std::snprintf(wait.comm.data(), wait.comm.size(), "MPI_COMM_WORLD");
  wait.shown = wait.total = 1;
  wait.ops[0] = {kind, true, peer, peer, 7};
  wait.member_count = 2;
  wait.members = {0, 1};
  wait.unexpected_count = 1;
  wait.unexpected[0] = {2, 3};
  view.waits.push_back(wait);
}

std::string all_text(const Frame& frame) {
  std::string out;
  for (const auto* part : {&frame.head, &frame.ranks})
    for (const Line& line : *part) out += line.text + "\n";
  return out;
}

std::string line_with(const Frame& frame, const std::string& start) {
  for (const auto* part : {&frame.head, &frame.ranks})
    for (const Line& line : *part)
      if (line.text.rfind(start, 0) == 0) return line.text;
  return "(no line " + start + ")";
}

TEST(Top, states_tell_computing_waiting_sending_and_talking_apart) {
  std::vector<RankView> now{rank(0, "n1"), rank(1, "n1"), rank(2, "n2"), rank(3, "n2")};
  std::vector<RankView> before = now;
  for (RankView& view : before) view.counted_ns = kNow - kSecond;
  now[0].answered = false;
  wait_for(now[1], "MPI_Recv", WaitedKind::receive, 0);
  wait_for(now[2], "MPI_Ssend", WaitedKind::send, 3);
  count(now[3], RankCounter::received, 10);
  const Frame frame = make_frame(before, now, {}, "");
  EXPECT_NE(line_with(frame, "    0").find("computes"), std::string::npos);
  EXPECT_NE(line_with(frame, "    1").find("waits"), std::string::npos);
  EXPECT_NE(line_with(frame, "    1").find("MPI_Recv from 0, tag 7, MPI_COMM_WORLD, 3.0 s"),
            std::string::npos);
  EXPECT_NE(line_with(frame, "    2").find("sends"), std::string::npos);
  EXPECT_NE(line_with(frame, "    3").find("talks"), std::string::npos);
  EXPECT_EQ(line_with(frame, "n1"), "n1: 2 ranks, 1 computes, 1 waits");
  EXPECT_EQ(line_with(frame, "n2"), "n2: 2 ranks, 1 talks, 1 sends");
}

TEST(Top, rates_are_taken_over_the_time_between_the_counters) {
  RankView before = rank(0, "n1"), now = rank(0, "n1");
  before.counted_ns = kNow - 4 * kSecond;
  count(before, RankCounter::shm_bytes, 1000);
  count(now, RankCounter::shm_bytes, 1000 + 4 * 2'500'000);
  count(now, RankCounter::retransmitted, 8);
  count(now, RankCounter::cast_packets, 400);
  const Frame frame = make_frame({before}, {now}, {}, "");
  EXPECT_EQ(line_with(frame, "shm"), "shm    sent 0 packets/s, 2.5MB/s; long messages copied 0B/s");
  EXPECT_NE(line_with(frame, "net").find("retransmitted 2/s"), std::string::npos);
  EXPECT_NE(line_with(frame, "lanes").find("cast 100 packets/s"), std::string::npos);
  // The rank has written no counters since: no rate, whatever the time.
  EXPECT_NE(line_with(make_frame({now}, {now}, {}, ""), "shm").find("0B/s"), std::string::npos);
}

TEST(Top, ranks_that_are_not_seen_and_silent_hosts_are_named) {
  const std::string text = all_text(make_frame({}, {rank(0, "n1")}, {"n7"}, ""));
  EXPECT_NE(text.find("1 of 4 ranks are seen from this host"), std::string::npos);
  EXPECT_NE(text.find("n7 does not answer"), std::string::npos);
  EXPECT_TRUE(make_frame({}, {}, {}, "").head.empty());
}

TEST(Top, a_cycle_over_hosts_is_a_deadlock) {
  std::vector<RankView> now{rank(0, "n1"), rank(1, "n2")};
  wait_for(now[0], "MPI_Recv", WaitedKind::receive, 1);
  wait_for(now[1], "MPI_Recv", WaitedKind::receive, 0);
  EXPECT_EQ(line_with(make_frame({}, now, {}, ""), "deadlock"),
            "deadlock: rank 0 waits for rank 1, rank 1 waits for rank 0");
}

TEST(Top, numbers_are_short) {
  EXPECT_EQ(short_number(0), "0");
  EXPECT_EQ(short_number(0.4), "0.4");
  EXPECT_EQ(short_number(7), "7");
  EXPECT_EQ(short_number(999.4), "999");
  EXPECT_EQ(short_number(999.9), "1.0k");
  EXPECT_EQ(short_number(12'345), "12k");
  EXPECT_EQ(short_number(2.5e9), "2.5G");
  EXPECT_EQ(short_number(1e18), "1000000T");
}

TEST(Top, a_view_travels_whole) {
  RankView view = rank(3, "n2");
  wait_for(view, "MPI_Waitall", WaitedKind::receive, 1);
  count(view, RankCounter::net_bytes, ~std::uint64_t{0});
  view.phase = RankPhase::finalizing;
  std::vector<RankView> out;
  const std::string line = watch::to_line({view});
  EXPECT_EQ(line.find('\n'), std::string::npos);
  ASSERT_TRUE(watch::from_line(line, out));
  ASSERT_EQ(out.size(), 1U);
  EXPECT_EQ(watch::to_line(out), line);
  EXPECT_EQ(watch::rank_text(out[0]), watch::rank_text(view));
  EXPECT_EQ(out[0].counters, view.counters);
}

TEST(Top, damaged_lines_are_refused) {
  std::vector<RankView> out;
  for (const char* line : {"", "hello", "{}", "[{}]", "[{\"rank\":\"x\"}]", "[1,2"}) {
    EXPECT_FALSE(watch::from_line(line, out) && !out.empty()) << line;
  }
}

}  // namespace
}  // namespace herald::tools::top
