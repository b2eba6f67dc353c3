// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a descriptor that can be read is not named, or one is that cannot; a sleep does not
// end, or ends at once.
#include "path/watch.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>

namespace herald::path {
namespace {

struct Pipe {
  Pipe() { EXPECT_EQ(::pipe(ends), 0); }
  ~Pipe() {
    ::close(ends[0]);
    ::close(ends[1]);
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  void put() const { EXPECT_EQ(::write(ends[1], "x", 1), 1); }
  void take() const {
    char c;
    EXPECT_EQ(::read(ends[0], &c, 1), 1);
  }
  int ends[2];
};

}  // namespace

TEST(Watch, names_those_that_can_be_read_and_no_others) {
  const Pipe a, b, c;
  Watch watch;
  EXPECT_EQ(watch.look(), 0u);
  watch.add(a.ends[0], 1);
  watch.add(b.ends[0], 1);
  watch.add(c.ends[0], 4);
  watch.add(-1, 8);  // none
  EXPECT_EQ(watch.look(), 0u);
  b.put();
  EXPECT_EQ(watch.look(), 1u);
  EXPECT_EQ(watch.look(), 1u) << "until it is read";
  c.put();
  EXPECT_EQ(watch.look(), 5u);
  EXPECT_EQ(watch.sleep(milliseconds(60'000)), 5u);
  b.take();
  EXPECT_EQ(watch.look(), 4u);
  c.take();
  EXPECT_EQ(watch.look(), 0u);
}

TEST(Watch, sleeps_no_longer_than_the_time_that_it_is_given) {
  const Pipe a;
  Watch watch;
  watch.add(a.ends[0], 1);
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(watch.sleep(microseconds(1500)), 0u);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::microseconds(1500));
  EXPECT_EQ(watch.sleep({}), 0u);
}

}  // namespace herald::path
