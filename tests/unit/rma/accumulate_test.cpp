// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: elements are combined with the wrong ones, in scattered, unaligned or paired memory;
// bytes between them change; the values from before are those from after.
#include "rma/accumulate.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "type/build.hpp"

using namespace herald;
using namespace herald::rma;

namespace {

const std::byte* bytes(const void* data) { return static_cast<const std::byte*>(data); }
std::byte* bytes(void* data) { return static_cast<std::byte*>(data); }

}  // namespace

TEST(RmaAccumulate, scattered_elements) {
  std::vector<int> memory(40000);
  for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<int>(i);
  type::LayoutRef vector;
  ASSERT_EQ(type::vector(20000, 1, 2, type::basic_layout(type::Basic::c_int), vector), Status::ok);
  std::vector<int> in(20000, 5), before(20000, -1);
  int held = 0;
  const Guard guard{[](void* count) { ++*static_cast<int*>(count); }, [](void*) {}, &held};
  accumulate(guard, type::Cursor(*vector, memory.data(), 1), op::Kind::sum, type::Basic::c_int,
             bytes(in.data()), bytes(before.data()));
  EXPECT_EQ(held, 2) << "80,000 bytes are two pieces";
  for (std::size_t i = 0; i < memory.size(); ++i) {
    ASSERT_EQ(memory[i], static_cast<int>(i) + (i % 2 == 0 ? 5 : 0)) << i;
    ASSERT_EQ(before[i / 2], static_cast<int>(i / 2 * 2));
  }
}

TEST(RmaAccumulate, unaligned_elements) {
  alignas(8) std::byte memory[40] = {};
  const std::int64_t in[3] = {1, 2, 3};
  for (int round = 0; round < 2; ++round)
    accumulate({}, type::Cursor::bytes(memory + 3, 24), op::Kind::sum, type::Basic::int64, bytes(in),
               nullptr);
  for (int i = 0; i < 3; ++i) {
    std::int64_t value = 0;
    std::memcpy(&value, memory + 3 + 8 * i, 8);
    EXPECT_EQ(value, 2 * in[i]);
  }
}

TEST(RmaAccumulate, pairs_with_gaps) {
  struct Pair {
    short value;
    int index;
  } memory[3] = {{1, 10}, {5, 10}, {7, 10}};
  std::memset(reinterpret_cast<char*>(&memory[0]) + 2, 0x77, 2);
  std::byte in[18], before[18];
  for (int i = 0; i < 3; ++i) {
    const short value = 5;
    const int index = 3;
    std::memcpy(in + 6 * i, &value, 2);
    std::memcpy(in + 6 * i + 2, &index, 4);
  }
  const type::Layout& pair = type::basic_layout(type::Basic::short_int);
  accumulate({}, type::Cursor(pair, memory, 3), op::Kind::maxloc, type::Basic::short_int, in, before);
  EXPECT_TRUE(memory[0].value == 5 && memory[0].index == 3);
  EXPECT_TRUE(memory[1].value == 5 && memory[1].index == 3);
  EXPECT_TRUE(memory[2].value == 7 && memory[2].index == 10);
  EXPECT_EQ(reinterpret_cast<char*>(&memory[0])[2], 0x77) << "padding is never written";
  short old = 0;
  std::memcpy(&old, before + 6, 2);
  EXPECT_EQ(old, 5);
}

TEST(RmaAccumulate, no_op_reads_and_replace_writes) {
  double memory[2] = {1, 2}, before[2] = {};
  const double in[2] = {8, 9};
  accumulate({}, type::Cursor::bytes(memory, 16), op::Kind::no_op, type::Basic::c_double, nullptr,
             bytes(before));
  EXPECT_TRUE(before[0] == 1 && before[1] == 2 && memory[0] == 1);
  accumulate({}, type::Cursor::bytes(memory, 16), op::Kind::replace, type::Basic::c_double, bytes(in),
             nullptr);
  EXPECT_TRUE(memory[0] == 8 && memory[1] == 9);
}

TEST(RmaAccumulate, compare_and_swap_writes_if_equal) {
  int memory = 4, before = 0;
  const int five = 5, four = 4;
  compare_and_swap({}, &memory, sizeof memory, &five, &five, &before);
  EXPECT_TRUE(memory == 4 && before == 4);
  compare_and_swap({}, &memory, sizeof memory, &five, &four, &before);
  EXPECT_TRUE(memory == 5 && before == 4);
}
