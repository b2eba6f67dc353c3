// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a peer whose UDP is blocked stays unreachable, or keeps TCP though UDP works; both
// paths alternate for ever; a connection that nobody answers is used; connects follow each other too fast.
#include "node/path_choice.hpp"

#include <gtest/gtest.h>

using namespace herald;
using node::PathChoice;
using Kind = PathChoice::Action::Kind;

namespace {

// Two ends, a connection without loss, and UDP that passes or not, by direction. Time goes by 10 ms.
struct Pair {
  PathChoice ends[2];
  bool udp[2] = {false, false};  // from this end to the other
  bool connects = true, frames = true;
  Instant now{1'000'000'000};
  int connect_count = 0, changes = 0;
  Instant last_connect{};

  void connect() {
    for (int i = 0; i < 2; ++i) ends[i].on_connected(now, 1 - i);
  }
  void disconnect() {
    for (int i = 0; i < 2; ++i) ends[i].on_disconnected(now, 1 - i);
  }
  void perform(int end, const PathChoice::Action& action) {
    PathChoice& other = ends[1 - end];
    switch (action.kind) {
      case Kind::connect:
        ++connect_count;
        last_connect = now;
        if (connects)
          connect();
        else
          ends[end].on_connect_failed(now, action.peer);
        break;
      case Kind::report:
        if (frames) other.on_report(now, end, action.number, action.heard, action.by_tcp);
        break;
      case Kind::probe:
        if (udp[end]) other.on_probe(now, end, action.number);
        break;
      case Kind::close: disconnect(); break;
      case Kind::none: break;
    }
  }
  void run(std::int64_t ms) {
    for (const Instant end = now + milliseconds(ms); now < end; now = now + milliseconds(10))
      for (int i = 0; i < 2; ++i)
        for (auto action = ends[i].poll(now); action.kind != Kind::none; action = ends[i].poll(now))
          perform(i, action);
    for (PathChoice& one : ends) changes += static_cast<int>(one.take_changes().size());
  }
};

}  // namespace

TEST(PathChoice, a_silent_peer_is_tried_by_tcp_and_both_ends_use_it) {
  Pair pair;
  EXPECT_TRUE(pair.ends[0].is_idle());
  pair.ends[0].on_silent(pair.now, 1);
  EXPECT_FALSE(pair.ends[0].uses_tcp(1));
  pair.run(50);
  EXPECT_TRUE(pair.ends[0].uses_tcp(1));
  EXPECT_TRUE(pair.ends[1].uses_tcp(0));
  pair.run(60'000);
  EXPECT_TRUE(pair.ends[0].uses_tcp(1));
  EXPECT_TRUE(pair.ends[0].is_blocked(1));
  EXPECT_EQ(pair.connect_count, 1);
  EXPECT_EQ(pair.changes, 2);
}

TEST(PathChoice, each_direction_returns_to_udp_when_its_probes_pass) {
  Pair pair;
  pair.ends[0].on_silent(pair.now, 1);
  pair.run(100);
  pair.udp[0] = true;
  pair.run(1000);
  EXPECT_FALSE(pair.ends[0].uses_tcp(1));
  EXPECT_TRUE(pair.ends[1].uses_tcp(0));
  pair.udp[1] = true;
  pair.run(1000);
  EXPECT_FALSE(pair.ends[1].uses_tcp(0));
  EXPECT_TRUE(pair.ends[0].is_connected(1));
  pair.run(30'000);  // a connection that is not needed is closed, and forgotten
  EXPECT_TRUE(pair.ends[0].is_idle());
  EXPECT_TRUE(pair.ends[1].is_idle());
}

TEST(PathChoice, a_peer_that_is_slow_is_not_blocked) {
  Pair pair;
  pair.ends[0].on_silent(pair.now, 1);
  pair.run(20);
  pair.frames = false;  // nothing is known meanwhile
  pair.run(1000);
  EXPECT_FALSE(pair.ends[0].is_blocked(1));
  pair.frames = pair.udp[0] = pair.udp[1] = true;
  pair.run(300);
  EXPECT_FALSE(pair.ends[0].is_blocked(1));
}

TEST(PathChoice, udp_that_fails_again_and_again_must_work_for_longer) {
  Pair pair;
  std::int64_t last = 0;
  pair.ends[0].on_silent(pair.now, 1);
  pair.run(100);
  for (int i = 0; i < 6; ++i) {
    pair.udp[0] = pair.udp[1] = true;
    const Instant from = pair.now;
    while (pair.ends[0].uses_tcp(1) && pair.now - from < milliseconds(20'000)) pair.run(10);
    const std::int64_t took = (pair.now - from).ns;
    EXPECT_FALSE(pair.ends[0].uses_tcp(1));
    EXPECT_GT(took, last) << i;
    last = took;
    pair.udp[0] = pair.udp[1] = false;
    pair.ends[0].on_silent(pair.now, 1);
    EXPECT_TRUE(pair.ends[0].uses_tcp(1));  // at once: the connection is there
    pair.run(20);
  }
  EXPECT_EQ(pair.connect_count, 1);
}

TEST(PathChoice, a_peer_that_goes_to_tcp_again_takes_the_other_end_along) {
  Pair pair;
  pair.udp[0] = pair.udp[1] = true;
  pair.ends[0].on_silent(pair.now, 1);
  pair.run(2000);
  EXPECT_FALSE(pair.ends[0].uses_tcp(1) || pair.ends[1].uses_tcp(0));
  pair.udp[0] = false;  // only this direction: end 1 gets no answer, end 0 hears end 1
  pair.ends[1].on_silent(pair.now, 0);
  pair.run(20);
  EXPECT_TRUE(pair.ends[0].uses_tcp(1));
}

TEST(PathChoice, connects_that_fail_back_off_and_datagrams_stay_with_udp) {
  Pair pair;
  pair.connects = false;
  Instant last{};
  std::int64_t longest = 0;
  for (int i = 0; i < 1000; ++i) {
    pair.ends[0].on_silent(pair.now, 1);
    const int before = pair.connect_count;
    pair.run(10);
    EXPECT_FALSE(pair.ends[0].uses_tcp(1));
    if (pair.connect_count == before) continue;
    if (last != Instant{}) longest = std::max(longest, (pair.last_connect - last).ns);
    last = pair.last_connect;
  }
  EXPECT_GE(pair.connect_count, 5);
  EXPECT_LE(pair.connect_count, 12);
  EXPECT_LE(longest, milliseconds(2100).ns);
}

TEST(PathChoice, a_connection_without_frames_is_given_up_and_opened_again) {
  Pair pair;
  pair.ends[0].on_silent(pair.now, 1);
  pair.run(100);
  pair.frames = false;
  pair.run(1600);
  EXPECT_GE(pair.connect_count, 2);  // at once, because it was in use
}

TEST(PathChoice, copies_of_reports_and_probes_change_nothing) {
  Pair pair;
  pair.ends[0].on_silent(pair.now, 1);
  pair.run(50);
  PathChoice& end = pair.ends[0];
  for (int i = 0; i < 20; ++i) {
    end.on_report(pair.now, 1, 1, 1, false);      // an old number
    end.on_report(pair.now, 1, 1000, 999, true);  // probes that never left
    pair.run(100);
  }
  EXPECT_TRUE(end.uses_tcp(1));
}

TEST(PathChoice, without_udp_no_probe_leaves) {
  PathChoice end(true);
  const Instant now{1'000'000'000};
  end.on_silent(now, 1);
  ASSERT_EQ(end.poll(now).kind, Kind::connect);
  end.on_connected(now, 1);
  EXPECT_EQ(end.poll(now).kind, Kind::report);
  EXPECT_EQ(end.poll(now).kind, Kind::none);
}
