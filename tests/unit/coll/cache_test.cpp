// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: two different calls share a plan; the same call makes its plan again; the cache grows
// without bound, or frees a plan that is running; a new layout at the address of an old one finds the old
// one's plan.
#include "coll/cache.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "coll/table.hpp"
#include "job.hpp"

namespace herald::coll {
namespace {

Key key_of(std::int64_t a, std::int64_t b = 0) {
  Key key;
  key.add(a);
  key.add(b);
  return key;
}

Plan some_plan(std::size_t steps = 1) {
  Builder b;
  Piece piece;
  piece.bytes = 1;
  for (std::size_t i = 0; i < steps; ++i) b.copy(piece, piece);
  return b.finish("test");
}

int dropped = 0;

TEST(CollCache, finds_the_plan_of_the_same_key_only) {
  PlanCache cache;
  const Key one = key_of(1, 2), other = key_of(2, 1);
  EXPECT_EQ(cache.find(one, one.hash()), nullptr);
  CachedPlan* made = cache.add(some_plan(), one, one.hash(), {});
  EXPECT_EQ(cache.find(one, one.hash()), made);
  EXPECT_EQ(cache.find(other, other.hash()), nullptr);
  EXPECT_EQ(cache.find(other, one.hash()), nullptr);  // the key decides, not the hash
  Key longer = one;
  longer.add(0);
  EXPECT_EQ(cache.find(longer, one.hash()), nullptr);
  EXPECT_EQ(cache.counters().found, 1u);
  EXPECT_EQ(cache.counters().made, 1u);
  EXPECT_EQ(made->refs, 3u);  // references of the cache, of the maker and of the finder
  release(made);
  release(made);
}

TEST(CollCache, evicts_prepared_plans_last_and_stays_bounded) {
  PlanCache cache;
  const Key loved = key_of(-1);
  const char *const operation = "test", *const another = "other";
  CachedPlan* made = cache.add(some_plan(), loved, loved.hash(), {});
  made->plan.operation = operation;
  made->prepared = true;
  release(made);
  const auto add_many = [&](bool prepared) {
    for (int i = 0; i < 1000; ++i) {
      const Key key = key_of(i, prepared);
      CachedPlan* cached = cache.add(some_plan(), key, key.hash(), {});
      cached->prepared = prepared;
      cached->plan.operation = prepared ? another : operation;
      release(cached);
    }
  };
  const auto is_cached = [&](const Key& key) {
    CachedPlan* found = cache.find(key, key.hash());
    if (found != nullptr) release(found);
    return found != nullptr;
  };
  add_many(false);
  EXPECT_TRUE(is_cached(loved));
  add_many(true);  // more than there is room for: the least recently used goes
  EXPECT_FALSE(is_cached(loved));
  EXPECT_TRUE(is_cached(key_of(999, 1)));
  cache.release_prepared(operation);
  add_many(false);
  EXPECT_TRUE(is_cached(key_of(999, 1)));
  cache.release_prepared(another);
  add_many(false);
  EXPECT_FALSE(is_cached(key_of(999, 1)));
}

TEST(CollCache, is_bounded_and_keeps_used_plans) {
  PlanCache cache;
  const Key loved = key_of(-1);
  release(cache.add(some_plan(), loved, loved.hash(), {}));
  CachedPlan* running = nullptr;
  dropped = 0;
  const int many = 1000;
  for (int i = 0; i < many; ++i) {
    const Key key = key_of(i);
    CachedPlan* cached = cache.add(some_plan(), key, key.hash(), {});
    cached->idle = cached;
    cached->drop_idle = [](void*) { ++dropped; };
    if (i == 0)
      running = cached;
    else
      release(cached);
    CachedPlan* again = cache.find(loved, loved.hash());
    ASSERT_NE(again, nullptr) << i;
    release(again);
  }
  EXPECT_GE(dropped, many - static_cast<int>(PlanCache::kSets * PlanCache::kWays));
  EXPECT_EQ(running->plan.size(), 1u);  // evicted from the cache, still referenced here
  EXPECT_EQ(running->refs, 1u);
  release(running);
}

TEST(CollCache, does_not_cache_huge_plans) {
  PlanCache cache;
  const Key key = key_of(5);
  CachedPlan* cached = cache.add(some_plan(PlanCache::kLargestPlan / sizeof(Step) + 1), key, key.hash(), {});
  EXPECT_EQ(cached->refs, 1u);
  EXPECT_EQ(cache.find(key, key.hash()), nullptr);
  release(cached);
}

TEST(CollCache, layouts_count_by_form_when_dense_and_by_identity_when_not) {
  Key ints, floats, doubles, gappy, other;
  ints.add_layout(&type::basic_layout(type::Basic::int32));
  floats.add_layout(&type::basic_layout(type::Basic::c_float));
  doubles.add_layout(&type::basic_layout(type::Basic::c_double));
  gappy.add_layout(&gappy_layout());
  type::LayoutRef wider;
  ASSERT_EQ(type::resized(gappy_layout(), 0, 64, wider), Status::ok);
  other.add_layout(wider.get());
  EXPECT_TRUE(std::ranges::equal(ints.words(), floats.words()));
  EXPECT_FALSE(std::ranges::equal(ints.words(), doubles.words()));
  EXPECT_FALSE(std::ranges::equal(gappy.words(), other.words()));

  PlanCache cache;
  const type::Layout* named[] = {wider.get(), nullptr};
  release(cache.add(some_plan(), other, other.hash(), named));
  const type::Layout* address = wider.get();
  wider = type::LayoutRef();  // the cache still references it: its address cannot be reused
  for (int i = 0; i < 100; ++i) {
    type::LayoutRef fresh;
    ASSERT_EQ(type::resized(gappy_layout(), 0, 64, fresh), Status::ok);
    ASSERT_NE(fresh.get(), address);
  }
}

}  // namespace
}  // namespace herald::coll
