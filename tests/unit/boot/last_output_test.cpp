// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a process aborts before its message is read; it waits for a missing reader, or for a
// file, which has none.
#include "boot/last_output.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace herald::boot {
namespace {

using Clock = std::chrono::steady_clock;
constexpr int kLong = 60'000;

TEST(LastOutput, waits_for_a_late_reader) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_EQ(::write(ends[1], "why", 3), 3);
  std::atomic<bool> taken = false;
  std::thread reader([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    char text[8];
    taken = true;
    EXPECT_EQ(::read(ends[0], text, sizeof text), 3);
  });
  wait_until_read(ends[1], kLong);
  EXPECT_TRUE(taken);
  reader.join();
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(LastOutput, gives_up_without_a_reader) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_EQ(::write(ends[1], "why", 3), 3);
  const auto begin = Clock::now();
  wait_until_read(ends[1], 20);
  EXPECT_GE(Clock::now() - begin, std::chrono::milliseconds(20));
  ::close(ends[0]);
  ::close(ends[1]);
}

TEST(LastOutput, does_not_wait_for_a_file_or_an_empty_pipe) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  const auto begin = Clock::now();
  wait_until_read(ends[1], kLong);
  const int null = ::open("/dev/null", O_WRONLY);
  wait_until_read(null, kLong);
  wait_until_read(-1, kLong);
  EXPECT_LT(Clock::now() - begin, std::chrono::milliseconds(kLong));
  ::close(null);
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace
}  // namespace herald::boot
