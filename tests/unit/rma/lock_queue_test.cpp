// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: two exclusive holders; a shared request overtakes an exclusive one and starves it; a
// request is forgotten.
#include "rma/lock_queue.hpp"

#include <gtest/gtest.h>

#include <set>

#include "base/prng.hpp"

using herald::Prng;
using herald::rma::LockQueue;

TEST(RmaLockQueue, shared_holders_share_and_exclusive_ones_wait) {
  LockQueue queue;
  EXPECT_TRUE(queue.request(0, false));
  EXPECT_TRUE(queue.request(1, false));
  EXPECT_FALSE(queue.request(2, true));
  EXPECT_FALSE(queue.request(3, false)) << "it must not overtake";
  EXPECT_TRUE(queue.release(0).empty());
  EXPECT_EQ(queue.release(1), std::vector<int>{2});
  EXPECT_TRUE(queue.holds(2));
  EXPECT_FALSE(queue.holds(3));
  EXPECT_EQ(queue.release(2), std::vector<int>{3});
  EXPECT_TRUE(queue.release(3).empty());
  EXPECT_TRUE(queue.is_idle());
}

TEST(RmaLockQueue, a_waiting_request_can_be_removed) {
  LockQueue queue;
  EXPECT_TRUE(queue.request(0, true));
  EXPECT_FALSE(queue.request(1, true));
  EXPECT_FALSE(queue.request(2, false));
  EXPECT_TRUE(queue.release(1).empty());
  EXPECT_EQ(queue.release(0), std::vector<int>{2});
}

TEST(RmaLockQueue, random_requests_are_all_granted_and_exclude_each_other) {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    Prng chance(seed);
    LockQueue queue;
    constexpr int kOrigins = 8;
    std::set<int> shared, exclusive, waiting_shared, waiting_exclusive;
    int granted = 0, requested = 0;
    const auto grant = [&](int origin) {
      ++granted;
      if (waiting_exclusive.erase(origin) != 0)
        exclusive.insert(origin);
      else
        waiting_shared.erase(origin), shared.insert(origin);
      EXPECT_TRUE(exclusive.size() <= 1 && (exclusive.empty() || shared.empty())) << "seed " << seed;
    };
    for (int step = 0; step < 1000; ++step) {
      const int origin = static_cast<int>(chance.below(kOrigins));
      if (shared.erase(origin) + exclusive.erase(origin) != 0) {
        for (const int next : queue.release(origin)) grant(next);
      } else if (waiting_shared.count(origin) + waiting_exclusive.count(origin) == 0) {
        const bool alone = chance.below(2) == 0;
        (alone ? waiting_exclusive : waiting_shared).insert(origin);
        ++requested;
        if (queue.request(origin, alone)) grant(origin);
      }
    }
    while (!shared.empty() || !exclusive.empty()) {
      const int origin = shared.empty() ? *exclusive.begin() : *shared.begin();
      shared.erase(origin), exclusive.erase(origin);
      for (const int next : queue.release(origin)) grant(next);
    }
    EXPECT_EQ(granted, requested);
    EXPECT_TRUE(queue.is_idle());
  }
}
