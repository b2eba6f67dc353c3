// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: members of one lane work out different addresses; an address that is not for such use;
// a job with many communicators joins more groups than systems allow; all jobs share one address.
#include "group/address.hpp"

#include <gtest/gtest.h>

#include <set>

using namespace herald;

TEST(GroupAddress, lies_in_the_blocks_meant_for_it) {
  for (std::uint64_t lane = 0; lane < 1000; ++lane) {
    const group::Address four = group::address_of({1, 2}, lane, 4);
    EXPECT_EQ(four[0], 239);
    EXPECT_EQ(four[1] & 0xfc, 192);
    const group::Address six = group::address_of({1, 2}, lane, 6);
    EXPECT_TRUE(six[0] == 0xff && six[1] == 0x15);
    EXPECT_EQ(four, group::address_of({1, 2}, lane, 4));
  }
}

TEST(GroupAddress, a_job_uses_few_and_jobs_differ) {
  std::set<group::Address> one, all;
  for (std::uint64_t lane = 0; lane < 1000; ++lane) one.insert(group::address_of({1, 2}, lane, 4));
  EXPECT_LE(one.size(), group::kGroups);
  EXPECT_GE(one.size(), group::kGroups / 2);
  std::set<std::uint16_t> ports;
  for (std::uint64_t job = 0; job < 100; ++job) {
    all.insert(group::address_of({job, 7}, 1, 4));
    const std::uint16_t port = group::port_of({job, 7});
    EXPECT_TRUE(port >= 20000 && port < 32000);
    ports.insert(port);
  }
  EXPECT_GE(all.size(), 90u);
  EXPECT_GE(ports.size(), 80u);
}
