// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a freed handle that names the next object in its slot, a handle that does not fit an
// int, one that looks like a predefined handle, an arbitrary number taken for an object.
#include <gtest/gtest.h>

#include <set>

#include "mpi/core/handle_table.hpp"

namespace {

using herald::mpi::HandleTable;
using herald::mpi::Object;

struct Thing : Object {
  explicit Thing(int v) : value(v) {}
  int value;
};

TEST(HandleTable, finds_live_objects_only) {
  HandleTable<Thing> table;
  std::set<std::uint32_t> handles;
  std::vector<Thing*> things;
  for (int i = 0; i < 2000; ++i) {  // several slabs
    things.push_back(table.create(i));
    EXPECT_TRUE(handles.insert(things.back()->handle).second);
    EXPECT_GE(things.back()->handle & 0x3fffffu, 4096u);
    EXPECT_LE(things.back()->handle, 0x7fffffffu);
  }
  for (int i = 0; i < 2000; ++i) EXPECT_EQ(table.find(things[static_cast<std::size_t>(i)]->handle)->value, i);
  for (std::uintptr_t wrong : {std::uintptr_t{0}, std::uintptr_t{257}, std::uintptr_t{4095},
                               std::uintptr_t{4096 + 5000}, ~std::uintptr_t{0}, std::uintptr_t{1} << 40})
    EXPECT_EQ(table.find(wrong), nullptr) << wrong;
}

TEST(HandleTable, a_freed_handle_stays_invalid_when_its_slot_is_reused) {
  HandleTable<Thing> table;
  std::uint32_t old = 0;
  for (int round = 0; round < 500; ++round) {
    Thing* thing = table.create(round);
    if (old != 0) {
      EXPECT_NE(thing->handle, old);
      EXPECT_EQ(table.find(old), nullptr);
    }
    old = thing->handle;
    table.destroy(thing);
  }
  EXPECT_EQ(table.live(), 0u);
}

TEST(HandleTable, a_retired_object_lives_without_a_handle) {
  HandleTable<Thing> table;
  Thing* thing = table.create(7);
  const std::uint32_t handle = thing->handle;
  table.retire(thing);
  EXPECT_EQ(table.find(handle), nullptr);
  EXPECT_EQ(thing->value, 7);
  EXPECT_EQ(table.live(), 1u);
  int seen = 0;
  table.each([&](Thing&) { ++seen; });
  EXPECT_EQ(seen, 0);
  table.destroy(thing);
  EXPECT_EQ(table.live(), 0u);
}

}  // namespace
