// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: members of one lane compute different addresses; an address is not for such use; a job
// with many communicators joins more groups than systems allow; all jobs share one address.
#include "group/address.hpp"

#include <gtest/gtest.h>

#include <set>

using namespace herald;

namespace {
constexpr group::Pool kFour{.key = {1, 2}};
constexpr group::Pool kSix{.key = {1, 2}, .family = 6};
}  // namespace

TEST(GroupAddress, lies_in_the_blocks_for_local_use) {
  for (std::uint64_t lane = 0; lane < 1000; ++lane) {
    const group::Address four = group::address_of(kFour, lane, 0);
    EXPECT_EQ(four[0], 239);
    EXPECT_EQ(four[1] & 0xfc, 192);
    const group::Address six = group::address_of(kSix, lane, 0);
    EXPECT_TRUE(six[0] == 0xff && six[1] == 0x15);
    EXPECT_EQ(four, group::address_of(kFour, lane, 0));
  }
}

TEST(GroupAddress, a_job_uses_few_addresses_and_jobs_differ) {
  std::set<group::Address> one, all;
  for (std::uint64_t lane = 0; lane < 1000; ++lane) one.insert(group::address_of(kFour, lane, 0));
  EXPECT_LE(one.size(), group::kGroups);
  EXPECT_GE(one.size(), group::kGroups / 2);
  std::set<std::uint16_t> ports;
  for (std::uint64_t job = 0; job < 100; ++job) {
    all.insert(group::address_of({.key = {job, 7}}, 1, 0));
    const std::uint16_t port = group::port_of({.key = {job, 7}});
    EXPECT_TRUE(port >= 20000 && port < 32000);
    ports.insert(port);
  }
  EXPECT_GE(all.size(), 90u);
  EXPECT_GE(ports.size(), 80u);
}

TEST(GroupAddress, each_index_is_another_address_and_the_last_is_shared) {
  for (const group::Pool& pool : {kFour, kSix}) {
    for (std::uint64_t lane = 0; lane < 100; ++lane) {
      std::set<group::Address> all;
      for (std::uint8_t index = 0; index <= group::kSharedAddressIndex; ++index)
        all.insert(group::address_of(pool, lane, index));
      EXPECT_EQ(all.size(), 4u);
      EXPECT_EQ(group::address_of(pool, lane, group::kSharedAddressIndex),
                group::address_of(pool, 0, group::kSharedAddressIndex));
    }
  }
}

TEST(GroupAddress, may_come_from_a_range_of_the_site) {
  group::Pool pool{.key = {1, 2}, .port = 4711};
  for (const char* bad : {"", "239.1.2.3", "10.0.0.0/8", "239.1.2/24", "239.1.2.256/24", "239.1.2.3/33",
                          "239.1.2.3/24x", "224.0.0.0/3", "a.b.c.d/8"})
    EXPECT_FALSE(group::read_range(bad, pool)) << bad;
  EXPECT_EQ(pool.bits, 14u);
  ASSERT_TRUE(group::read_range("239.77.1.7/30", pool));
  EXPECT_EQ(group::port_of(pool), 4711);
  std::set<group::Address> all;
  for (std::uint8_t index = 0; index < group::kSharedAddressIndex; ++index) {
    const group::Address one = group::address_of(pool, 9, index);
    EXPECT_TRUE(one[0] == 239 && one[1] == 77 && one[2] == 1 && (one[3] & 0xfc) == 4);
    all.insert(one);
  }
  EXPECT_EQ(all.size(), 3u);
  ASSERT_TRUE(group::read_range("239.77.1.7/32", pool));
  EXPECT_EQ(group::address_of(pool, 9, 0), group::address_of(pool, 8, 3));
}

TEST(ForeignTraffic, many_datagrams_are_reported_once_and_few_are_not) {
  group::ForeignTraffic foreign;
  const group::Address here{239, 1}, there{239, 2};
  const auto at = [](std::int64_t ms) { return Instant{} + milliseconds(ms); };
  for (int i = 0; i < 300; ++i) EXPECT_FALSE(foreign.on_foreign(at(20 * i), here)) << i;
  int told = 0;
  for (int i = 0; i < 300; ++i) {
    told += foreign.on_foreign(at(10000 + i), here) ? 1 : 0;
    EXPECT_FALSE(i % 10 == 0 && foreign.on_foreign(at(10000 + i), there));
  }
  EXPECT_EQ(told, 1);
}
