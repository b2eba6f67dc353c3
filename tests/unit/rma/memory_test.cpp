// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: an access outside the window is accepted, by an overflow too, or one inside is
// refused.
#include "rma/memory.hpp"

#include <gtest/gtest.h>

#include "type/build.hpp"

using namespace herald;
using namespace herald::rma;

namespace {

const type::Layout& kInt = type::basic_layout(type::Basic::c_int);

}  // namespace

TEST(RmaMemory, accesses_must_be_inside) {
  int data[10] = {};
  Memory memory;
  memory.set(data, sizeof data);
  type::Cursor at;
  EXPECT_TRUE(memory.find(kInt, 10, 0, at));
  EXPECT_EQ(at.total(), sizeof data);
  EXPECT_TRUE(memory.find(kInt, 1, 36, at));
  EXPECT_EQ(at.contiguous_at(), &data[9]);
  EXPECT_FALSE(memory.find(kInt, 1, 37, at));
  EXPECT_FALSE(memory.find(kInt, 11, 0, at));
  EXPECT_FALSE(memory.find(kInt, 1, ~std::uint64_t{0}, at));
  EXPECT_FALSE(memory.find(kInt, 1, std::uint64_t{1} << 63, at));
  EXPECT_FALSE(memory.find(kInt, std::int64_t{1} << 61, 0, at));
  EXPECT_FALSE(memory.find(kInt, -1, 0, at));
}

TEST(RmaMemory, gaps_and_negative_bounds_count) {
  type::LayoutRef backwards, vector;
  ASSERT_EQ(type::hvector(3, 1, -8, kInt, backwards), Status::ok);
  EXPECT_FALSE(is_inside(*backwards, 1, 15, 100));
  EXPECT_TRUE(is_inside(*backwards, 1, 16, 100));
  ASSERT_EQ(type::hvector(3, 1, 8, kInt, vector), Status::ok);
  EXPECT_TRUE(is_inside(*vector, 1, 0, 20));
  EXPECT_FALSE(is_inside(*vector, 1, 0, 19));
  EXPECT_TRUE(is_inside(*vector, 0, 1000, 0)) << "no data, no access";
}

TEST(RmaMemory, dynamic_windows_have_ranges) {
  int data[30] = {};
  Memory memory;
  memory.set_dynamic();
  EXPECT_TRUE(memory.attach(data, 40));
  EXPECT_TRUE(memory.attach(data + 20, 40));
  EXPECT_FALSE(memory.attach(data + 9, 8));
  type::Cursor at;
  const auto address = reinterpret_cast<std::uintptr_t>(data);
  EXPECT_TRUE(memory.find(kInt, 1, address + 36, at));
  EXPECT_FALSE(memory.find(kInt, 2, address + 36, at));
  EXPECT_TRUE(memory.find(kInt, 10, address + 80, at));
  EXPECT_TRUE(memory.attach(data + 10, 8));
  EXPECT_TRUE(memory.find(kInt, 12, address, at)) << "adjacent ranges are one";
  EXPECT_FALSE(memory.find(kInt, 13, address, at));
  EXPECT_FALSE(memory.find(kInt, 1, address - 4, at));
  EXPECT_FALSE(memory.detach(data + 1));
  EXPECT_TRUE(memory.detach(data));
  EXPECT_FALSE(memory.find(kInt, 1, address, at));
}
