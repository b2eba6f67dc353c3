// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a readable descriptor is not reported, or another one is; a sleep does not end, or
// ends immediately.
#include "path/watch.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>

namespace herald::path {
namespace {

Instant now() {
  return {std::chrono::duration_cast<std::chrono::nanoseconds>(
              std::chrono::steady_clock::now().time_since_epoch())
              .count()};
}

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

TEST(Watch, reports_readable_descriptors_and_no_others) {
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
  EXPECT_EQ(watch.sleep(now(), now() + milliseconds(60'000), milliseconds(100'000)), 5u);
  b.take();
  EXPECT_EQ(watch.look(), 4u);
  c.take();
  EXPECT_EQ(watch.look(), 0u);
}

TEST(Watch, ignores_paused_descriptors_until_it_resumes) {
  const Pipe a, b;
  Watch watch;
  watch.resume();
  watch.add(a.ends[0], 1);
  watch.add(b.ends[0], 2);
  watch.pause(1);
  a.put();
  EXPECT_EQ(watch.look(), 0u);
  b.put();
  EXPECT_EQ(watch.look(), 2u) << "the others not";
  watch.pause(2);  // instead of those paused before
  EXPECT_EQ(watch.look(), 1u);
  watch.resume();
  watch.resume();
  EXPECT_EQ(watch.look(), 3u) << "what came meanwhile counts";
  EXPECT_EQ(watch.sleep(now(), now() + milliseconds(60'000), milliseconds(100'000)), 3u);
}

TEST(Watch, sleeps_until_the_given_time) {
  const Pipe a;
  Watch watch;
  watch.add(a.ends[0], 1);
  for (const Duration time : {microseconds(1500), microseconds(200), microseconds(900)}) {
    const Instant begin = now();
    EXPECT_EQ(watch.sleep(begin, begin + time, milliseconds(60'000)), 0u);
    EXPECT_GE(now() - begin, time);
  }
  const Instant begin = now();
  EXPECT_EQ(watch.sleep(begin, begin, milliseconds(60'000)), 0u) << "not at all";
  EXPECT_EQ(watch.sleep(begin, begin + milliseconds(60'000), milliseconds(2)), 0u);
  EXPECT_GE(now() - begin, milliseconds(2)) << "the longest";
}

// What could go wrong with a timer that stays armed: it ends longer sleeps again and again, or does not end a
// shorter one.
TEST(Watch, an_obsolete_timer_ends_at_most_one_sleep) {
  const Pipe a;
  Watch watch;
  watch.add(a.ends[0], 1);
  const Instant begin = now();
  a.put();
  EXPECT_EQ(watch.sleep(begin, begin + milliseconds(3), milliseconds(60'000)), 1u);
  a.take();
  int sleeps = 0;
  for (const Instant end = begin + milliseconds(30); now() < end; ++sleeps)
    (void)watch.sleep(now(), end + milliseconds(60'000), milliseconds(15));
  EXPECT_LE(sleeps, 4);
  const Instant again = now();
  EXPECT_EQ(watch.sleep(again, again + milliseconds(60'000), milliseconds(10)), 0u);
  EXPECT_EQ(watch.sleep(now(), now() + microseconds(300), milliseconds(60'000)), 0u);
}

TEST(Watch, an_earlier_time_than_the_last_one_counts) {
  const Pipe a;
  Watch watch;
  watch.add(a.ends[0], 1);
  const Instant begin = now();
  a.put();
  EXPECT_EQ(watch.sleep(begin, begin + milliseconds(30'000), milliseconds(60'000)), 1u);
  a.take();
  EXPECT_EQ(watch.sleep(now(), begin + milliseconds(20), milliseconds(60'000)), 0u);
  EXPECT_GE(now() - begin, milliseconds(20));
  EXPECT_LT(now() - begin, milliseconds(20'000));
}

}  // namespace herald::path
