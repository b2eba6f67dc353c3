// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: ranks are not spread evenly; ranks that somebody has bound are moved; a rank that was
// taken home may run nowhere else from then on; it is taken home again and again though somebody else keeps
// that processor; or it stays away because the kernel has moved it often.
#include <gtest/gtest.h>
#include <sched.h>

#include <thread>
#include <vector>

#include "engine/home.hpp"
#include "tests/unit/engine/mask.hpp"

using namespace herald;
using namespace herald::engine;

namespace {

std::vector<int> homes(const std::vector<path::CpuMask>& masks, bool alone = false) {
  std::vector<int> all;
  for (std::size_t me = 0; me < masks.size(); ++me) all.push_back(choose_home(masks, me, alone));
  return all;
}

// In a thread of its own, which may run on two processors at least; not called where there is but one.
template <class Body>
void with_two(Body body) {
  std::thread([&] {
    cpu_set_t may;
    ASSERT_EQ(::sched_getaffinity(0, sizeof may, &may), 0);
    std::vector<int> cpus;
    for (int cpu = 0; cpu < CPU_SETSIZE && cpus.size() < 2; ++cpu)
      if (CPU_ISSET(cpu, &may)) cpus.push_back(cpu);
    if (cpus.size() == 2) body(may, cpus[0], cpus[1]);
  }).join();
}

void go(int cpu, const cpu_set_t& may) {
  cpu_set_t only;
  CPU_ZERO(&only);
  CPU_SET(cpu, &only);
  ASSERT_EQ(::sched_setaffinity(0, sizeof only, &only), 0);
  ASSERT_EQ(::sched_setaffinity(0, sizeof may, &may), 0);
}

Instant at(std::int64_t ms) { return Instant{} + milliseconds(ms); }

// From elsewhere, between these times. The kernel may be quicker and take us there, but not always.
bool is_taken_home(Home& home, const cpu_set_t& may, int from, std::int64_t first_ms, std::int64_t last_ms) {
  for (std::int64_t ms = first_ms; !home.is_new() && ms <= last_ms; ms += 100) {
    go(from, may);
    home.look(at(ms));
  }
  return home.is_new();
}

}  // namespace

TEST(Home, ranks_are_spread_evenly_neighbours_together) {
  EXPECT_EQ(homes(std::vector<path::CpuMask>(5, mask(0b1010))), (std::vector<int>{1, 1, 1, 3, 3}));
  EXPECT_EQ(homes(std::vector<path::CpuMask>(8, mask(0b11))), (std::vector<int>{0, 0, 0, 0, 1, 1, 1, 1}));
}

TEST(Home, hosts_of_one_rank_each_are_put_in_turn) {
  EXPECT_EQ(homes(std::vector<path::CpuMask>(5, mask(0b1010)), true), (std::vector<int>{1, 3, 1, 3, 1}));
  EXPECT_EQ(homes(std::vector<path::CpuMask>(8, mask(0b11)), true),
            (std::vector<int>{0, 1, 0, 1, 0, 1, 0, 1}));
}

TEST(Home, those_on_other_hosts_do_not_count) {
  EXPECT_EQ(homes({mask(0b11), mask(0), mask(0b11), mask(0), mask(0b11), mask(0b11)}),
            (std::vector<int>{0, -1, 0, -1, 1, 1}));
}

TEST(Home, who_has_room_or_is_bound_has_none) {
  EXPECT_EQ(homes(std::vector<path::CpuMask>(2, mask(0b11))), (std::vector<int>{-1, -1}));
  EXPECT_EQ(homes(std::vector<path::CpuMask>(3, mask(0b1))), (std::vector<int>{-1, -1, -1}));
  EXPECT_EQ(homes({mask(0b11), mask(0b11), mask(0b01)}), (std::vector<int>{-1, -1, -1}));
}

TEST(Home, a_thread_goes_there_and_may_leave) {
  with_two([](const cpu_set_t& may, int away, int home_cpu) {
    Home home;
    EXPECT_FALSE(home.is_time());
    home.set(home_cpu);
    bool due = false;
    for (int i = 0; i < 64; ++i) due = home.is_time() || due;
    EXPECT_TRUE(due);
    EXPECT_TRUE(is_taken_home(home, may, away, 1000, 9000));
    cpu_set_t now;
    ASSERT_EQ(::sched_getaffinity(0, sizeof now, &now), 0);
    EXPECT_TRUE(CPU_EQUAL(&now, &may));
  });
}

// Most often a waker has drawn it away, which says nothing about home. The kernel may be quicker than we are.
TEST(Home, who_is_moved_away_again_and_again_goes_home_as_often) {
  with_two([](const cpu_set_t& may, int away, int home_cpu) {
    Home home;
    home.set(home_cpu);
    int went = 0;
    for (std::int64_t time = 1000; time < 1100; ++time) {
      went += is_taken_home(home, may, away, time, time) ? 1 : 0;
      while (home.is_new()) home.judge(at(time), microseconds(2));
    }
    EXPECT_GE(went, 50) << "of 100 times";
  });
}

TEST(Home, who_finds_somebody_there_stays_away) {
  with_two([](const cpu_set_t& may, int away, int home_cpu) {
    Home home;
    home.set(home_cpu);
    ASSERT_TRUE(is_taken_home(home, may, away, 1000, 9000));
    home.judge(at(9001), microseconds(50));
    EXPECT_TRUE(home.is_new());
    home.judge(at(9005), milliseconds(4));
    EXPECT_FALSE(home.is_new());
    EXPECT_FALSE(is_taken_home(home, may, away, 9100, 10'000)) << "too soon";
    EXPECT_TRUE(is_taken_home(home, may, away, 10'100, 20'000));
  });
}
