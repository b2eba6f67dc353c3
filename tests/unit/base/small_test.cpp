// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a reference counted twice or never; a duration with the wrong sign; an assertion that
// does not name its place.
#include <gtest/gtest.h>

#include <utility>

#include "base/fatal.hpp"
#include "base/instant.hpp"
#include "base/ref.hpp"

namespace herald {
namespace {

struct Counted {
  int count = 0;
  void retain() { ++count; }
  void release() { --count; }
};

TEST(Ref, counts_owners) {
  Counted object;
  {
    Ref<Counted> a(&object);
    EXPECT_EQ(object.count, 1);
    Ref<Counted> b = a;
    EXPECT_EQ(object.count, 2);
    Ref<Counted> c = std::move(b);
    EXPECT_EQ(object.count, 2);
    EXPECT_FALSE(b);
    b = c;
    c = Ref<Counted>();
    EXPECT_EQ(object.count, 2);
    Ref<Counted>& same = a;
    a = same;
    EXPECT_EQ(object.count, 2);
  }
  EXPECT_EQ(object.count, 0);
}

TEST(Ref, adopt_and_leak_do_not_count) {
  Counted object;
  object.retain();
  Ref<Counted> held = Ref<Counted>::adopt(&object);
  EXPECT_EQ(object.count, 1);
  EXPECT_EQ(held.leak(), &object);
  EXPECT_FALSE(held);
  EXPECT_EQ(object.count, 1);
}

TEST(Instant, arithmetic_and_order) {
  const Instant start{1'000};
  const Instant later = start + milliseconds(2);
  EXPECT_EQ((later - start).ns, 2'000'000);
  EXPECT_EQ((start - later).ns, -2'000'000);
  EXPECT_LT(start, later);
  EXPECT_LT(microseconds(999), milliseconds(1));
}

TEST(FatalDeathTest, an_assertion_names_itself_and_its_place) {
  HERALD_ASSERT(1 + 1 == 2);
  EXPECT_DEATH(HERALD_ASSERT(1 + 1 == 3), "bug: 1 \\+ 1 == 3 \\(.*small_test.cpp:[0-9]+\\)");
}

}  // namespace
}  // namespace herald
