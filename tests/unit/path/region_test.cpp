// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong with memory that peers map: a peer maps other memory than the owner's; it uses freed
// memory or keeps it allocated; a damaged table makes it read unmapped memory; a full table is a failure
// instead of plain memory.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <memory>
#include <vector>

#include "path/shm/region.hpp"

using namespace herald::path;

namespace {

constexpr std::size_t kRegionBytes = 100'000;

std::uint64_t number(const void* address) { return reinterpret_cast<std::uintptr_t>(address); }

// Both sides in one process: the peer opens the file of the owner through /proc nevertheless.
struct BothSides {
  std::unique_ptr<RegionTable> table = std::make_unique<RegionTable>();
  Regions owner;
  PeerRegions peer{::getpid(), *table};
  BothSides() { owner.open(table.get()); }
};

}  // namespace

TEST(Region, both_sides_see_the_same_memory) {
  BothSides pair;
  auto* mine = static_cast<char*>(pair.owner.take(kRegionBytes));
  ASSERT_NE(mine, nullptr);
  std::byte* theirs = pair.peer.find(number(mine) + 70'000, 1000);
  ASSERT_NE(theirs, nullptr);
  EXPECT_NE(number(theirs), number(mine) + 70'000);
  std::strcpy(mine + 70'000, "from the owner");
  EXPECT_STREQ(reinterpret_cast<char*>(theirs), "from the owner");
  std::strcpy(reinterpret_cast<char*>(theirs), "from the peer");
  EXPECT_STREQ(mine + 70'000, "from the peer");
  EXPECT_EQ(pair.peer.find(number(mine) + 70'000, 1000), theirs) << "mapped once";
}

TEST(Region, only_addresses_inside_are_found) {
  BothSides pair;
  int other = 0;
  EXPECT_EQ(pair.peer.find(number(&other), sizeof other), nullptr);
  void* mine = pair.owner.take(kRegionBytes);
  EXPECT_NE(pair.peer.find(number(mine), kRegionBytes), nullptr);
  EXPECT_EQ(pair.peer.find(number(mine), kRegionBytes + 1), nullptr);
  EXPECT_EQ(pair.peer.find(number(mine) - 1, 2), nullptr);
  EXPECT_EQ(pair.peer.find(number(mine) + kRegionBytes, 1), nullptr);
  EXPECT_EQ(pair.peer.find(number(mine) + 1, SIZE_MAX), nullptr);
  EXPECT_EQ(pair.peer.find(number(&other), sizeof other), nullptr);
}

TEST(Region, freed_memory_is_not_found_and_its_entry_is_reused) {
  BothSides pair;
  for (int turn = 0; turn < 200; ++turn) {
    auto* mine = static_cast<char*>(pair.owner.take(kRegionBytes));
    ASSERT_NE(mine, nullptr);
    EXPECT_EQ(mine[0], 0) << "it is not what was there before";
    mine[0] = static_cast<char>(1 + turn % 100);
    std::byte* theirs = pair.peer.find(number(mine), kRegionBytes);
    ASSERT_NE(theirs, nullptr);
    EXPECT_EQ(*reinterpret_cast<char*>(theirs), mine[0]);
    EXPECT_TRUE(pair.owner.give_back(mine));
    EXPECT_FALSE(pair.owner.give_back(mine));
    EXPECT_EQ(pair.peer.find(number(mine), 1), nullptr);
  }
}

TEST(Region, a_full_table_or_none_gives_no_region) {
  BothSides pair;
  std::vector<void*> all;
  for (std::uint32_t i = 0; i < kRegions; ++i) {
    all.push_back(pair.owner.take(kRegionBytes));
    ASSERT_NE(all.back(), nullptr);
    EXPECT_NE(pair.peer.find(number(all.back()), kRegionBytes), nullptr);
  }
  EXPECT_EQ(pair.owner.take(kRegionBytes), nullptr);
  EXPECT_TRUE(pair.owner.give_back(all[17]));
  all[17] = pair.owner.take(kRegionBytes);
  EXPECT_NE(all[17], nullptr);
  pair.owner.open(nullptr);  // the peers have detached: memory of the program stays valid
  static_cast<char*>(all[3])[5] = 1;
  EXPECT_TRUE(pair.owner.give_back(all[3]));
  EXPECT_EQ(pair.owner.take(kRegionBytes), nullptr);
}

TEST(Region, damaged_tables_are_not_followed) {
  const auto spoilt = [](auto spoil) {
    BothSides pair;
    void* mine = pair.owner.take(kRegionBytes);
    const std::uint64_t address = number(mine);
    spoil(*pair.table);
    return pair.peer.find(address, 1000);
  };
  EXPECT_NE(spoilt([](RegionTable&) {}), nullptr);
  EXPECT_EQ(spoilt([](RegionTable& table) { table.used.store(kRegions + 1); }), nullptr);
  EXPECT_EQ(spoilt([](RegionTable& table) { table.entries[0].fd = 1; }), nullptr);
  EXPECT_EQ(spoilt([](RegionTable& table) { table.entries[0].fd = -1; }), nullptr);
  EXPECT_EQ(spoilt([](RegionTable& table) { table.entries[0].bytes *= 2; }), nullptr);
  EXPECT_EQ(spoilt([](RegionTable& table) { table.entries[0].file += 1; }), nullptr);
}
