// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a list that a PMIx server wrote in another form, or wrongly, gives ranks that do
// not exist.
#include "boot/local_peers.hpp"

#include <gtest/gtest.h>

namespace herald::boot {

using Ranks = std::vector<int>;

TEST(LocalPeers, lists_and_ranges_become_ascending_ranks) {
  EXPECT_EQ(parse_local_peers("0", 0, 1), Ranks({0}));
  EXPECT_EQ(parse_local_peers("5,2,0", 2, 8), Ranks({0, 2, 5}));
  EXPECT_EQ(parse_local_peers("0-3,8", 8, 16), Ranks({0, 1, 2, 3, 8}));
  EXPECT_EQ(parse_local_peers("1,1,1", 1, 4), Ranks({1}));
}

TEST(LocalPeers, invalid_lists_are_refused) {
  EXPECT_TRUE(parse_local_peers("", 0, 4).empty());
  EXPECT_TRUE(parse_local_peers("1,2", 0, 4).empty());  // leaves out this rank
  EXPECT_TRUE(parse_local_peers("0,4", 0, 4).empty());  // beyond the job
  EXPECT_TRUE(parse_local_peers("0,,1", 0, 4).empty());
  EXPECT_TRUE(parse_local_peers("0,-1", 0, 4).empty());
  EXPECT_TRUE(parse_local_peers("0-", 0, 4).empty());
  EXPECT_TRUE(parse_local_peers("0,x", 0, 4).empty());
  EXPECT_TRUE(parse_local_peers("0-3,0-3,0-3", 0, 4).empty());  // more than there are
  EXPECT_TRUE(parse_local_peers("99999999999999", 0, 4).empty());
}

}  // namespace herald::boot
