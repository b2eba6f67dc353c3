// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: elements are combined with the wrong ones, in scattered, unaligned or paired memory;
// bytes between them change; the values from before are those from after.
#include "rma/accumulate.hpp"

#include <gtest/gtest.h>

#include <complex>
#include <cstring>
#include <thread>
#include <type_traits>
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
  type::LayoutRef vector;
  ASSERT_EQ(type::vector(20000, 1, 2, type::basic_layout(type::Basic::c_int), vector), Status::ok);
  int held = 0;
  const Guard guarded{[](void* count) { ++*static_cast<int*>(count); }, [](void*) {}, &held};
  for (const Guard& guard : {Guard{}, guarded}) {
    std::vector<int> in(20000, 5), before(20000, -1);
    for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<int>(i);
    accumulate(guard, type::Cursor(*vector, memory.data(), 1), op::Kind::sum, type::Basic::c_int,
               bytes(in.data()), bytes(before.data()));
    for (std::size_t i = 0; i < memory.size(); ++i) {
      ASSERT_EQ(memory[i], static_cast<int>(i) + (i % 2 == 0 ? 5 : 0)) << i;
      ASSERT_EQ(before[i / 2], static_cast<int>(i / 2 * 2));
    }
  }
  EXPECT_EQ(held, 0) << "aligned words need no guard";
}

TEST(RmaAccumulate, large_elements_are_updated_under_the_guard) {
  std::vector<std::complex<double>> memory(5000, {1, 2}), in(5000, {3, 4}), before(5000);
  int held = 0;
  const Guard guard{[](void* count) { ++*static_cast<int*>(count); }, [](void*) {}, &held};
  accumulate(guard, type::Cursor::bytes(memory.data(), 80000), op::Kind::sum, type::Basic::c_double_complex,
             bytes(in.data()), bytes(before.data()));
  EXPECT_EQ(held, 2) << "80,000 bytes are two pieces";
  for (std::size_t i = 0; i < memory.size(); ++i) {
    ASSERT_EQ(memory[i], std::complex<double>(4, 6));
    ASSERT_EQ(before[i], std::complex<double>(1, 2));
  }
  int value = 7, compared = 5, found = 0;
  alignas(4) std::byte unaligned[8] = {};
  compare_and_swap(guard, unaligned + 1, 4, &value, &found, &compared);
  EXPECT_EQ(held, 3) << "words that are not aligned, too";
  EXPECT_EQ(compared, 0);
}

// Each reduction on words that several threads update at once, with and without the values from before.
TEST(RmaAccumulate, words_are_updated_atomically) {
  const Guard guard{[](void*) {}, [](void*) {}, nullptr};
  constexpr int kThreads = 4, kRounds = 5000;
  alignas(8) std::int64_t sum = 0, most = -1, bits = 0, swapped = 0;
  alignas(8) double real = 0;
  alignas(2) std::int16_t narrow = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t)
    threads.emplace_back([&, t] {
      const auto update = [&](auto& at, op::Kind kind, type::Basic basic, auto value) {
        std::remove_reference_t<decltype(at)> in = value, before{};
        accumulate(guard, type::Cursor::bytes(&at, sizeof at), kind, basic, bytes(&in), bytes(&before));
        return before;
      };
      for (int i = 0; i < kRounds; ++i) {
        (void)update(sum, op::Kind::sum, type::Basic::int64, 1);
        (void)update(most, op::Kind::max, type::Basic::int64, t * kRounds + i);
        (void)update(bits, op::Kind::bor, type::Basic::int64, std::int64_t{1} << (i % 62));
        (void)update(real, op::Kind::sum, type::Basic::c_double, 0.5);
        (void)update(narrow, op::Kind::sum, type::Basic::int16, 1);
        std::int64_t old = update(swapped, op::Kind::no_op, type::Basic::int64, 0), next = 0, seen = 0;
        for (bool done = false; !done; old = seen) {
          next = old + 1;
          compare_and_swap(guard, &swapped, 8, &next, &old, &seen);
          done = seen == old;
        }
      }
    });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(sum, kThreads * kRounds);
  EXPECT_EQ(most, kThreads * kRounds - 1);
  EXPECT_EQ(bits, (std::int64_t{1} << 62) - 1);
  EXPECT_EQ(real, kThreads * kRounds * 0.5);
  EXPECT_EQ(narrow, kThreads * kRounds);
  EXPECT_EQ(swapped, kThreads * kRounds);
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
