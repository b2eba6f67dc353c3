// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a described layout has other bytes, bounds or element kinds; a description grows with
// the number of uses of a node; damaged bytes are followed. HERALD_SEED=<seed> replays a failure.
#include "type/describe.hpp"

#include <gtest/gtest.h>

#include "tests/unit/effort.hpp"
#include "tests/unit/type/oracle.hpp"
#include "type/build.hpp"
#include "type/cursor.hpp"

namespace herald::type {
namespace {

std::vector<Run> runs_of(const Layout& layout, std::int64_t count) {
  std::vector<Run> runs(static_cast<std::size_t>(layout.size() * count));
  Cursor cursor(layout, reinterpret_cast<void*>(std::uintptr_t{1} << 40), count);
  runs.resize(cursor.next_runs(runs, SIZE_MAX));
  return runs;
}

TEST(TypeDescribe, random_layouts_arrive) {
  for (std::uint64_t i = 0; i < some_of(2000); ++i) {
    const std::uint64_t seed = seed_of_day() + i;
    Prng prng(seed);
    const Sample sample = random_sample(prng, 4);
    if (sample.layout->size() == 0 || sample.layout->size() > 50000) continue;
    LayoutRef made;
    ASSERT_EQ(from_description(describe(*sample.layout), made), Status::ok) << "HERALD_SEED=" << seed;
    EXPECT_EQ(made->size(), sample.layout->size());
    EXPECT_EQ(made->lb(), sample.layout->lb());
    EXPECT_EQ(made->extent(), sample.layout->extent());
    EXPECT_EQ(made->true_lb(), sample.layout->true_lb());
    EXPECT_EQ(made->true_ub(), sample.layout->true_ub());
    EXPECT_EQ(made->elements(), sample.layout->elements());
    EXPECT_EQ(made->signature(), sample.layout->signature());
    const auto ours = runs_of(*sample.layout, 2), theirs = runs_of(*made, 2);
    ASSERT_EQ(ours.size(), theirs.size()) << "HERALD_SEED=" << seed << ": " << sample.text;
    for (std::size_t k = 0; k < ours.size(); ++k)
      ASSERT_TRUE(ours[k].data == theirs[k].data && ours[k].bytes == theirs[k].bytes)
          << "HERALD_SEED=" << seed;
  }
}

TEST(TypeDescribe, shared_nodes_are_described_once) {
  LayoutRef layout;
  ASSERT_EQ(hvector(2, 1, 12, basic_layout(Basic::c_int), layout), Status::ok);
  for (int i = 0; i < 12; ++i) {
    const std::int64_t blocks[] = {1, 1}, displacements[] = {0, (std::int64_t{1} << (i + 6)) + i};
    const Layout* const items[] = {layout.get(), layout.get()};
    LayoutRef twice;
    ASSERT_EQ(structure(blocks, displacements, items, twice), Status::ok);
    layout = twice;
  }
  EXPECT_LT(describe(*layout).size(), 3000u);
}

TEST(TypeDescribe, damaged_bytes_are_refused_or_harmless) {
  LayoutRef layout, made;
  const std::int64_t blocks[] = {2, 3, 1}, displacements[] = {0, 5, 11};
  ASSERT_EQ(indexed(blocks, displacements, basic_layout(Basic::c_double), layout), Status::ok);
  const std::vector<std::byte> good = describe(*layout);
  for (std::size_t length = 0; length < good.size(); ++length)
    EXPECT_NE(from_description(std::span(good).first(length), made), Status::ok);
  Prng prng(1);
  for (std::uint64_t i = 0; i < some_of(2000); ++i) {
    std::vector<std::byte> bad = good;
    bad[prng.below(bad.size())] = static_cast<std::byte>(prng.next());
    (void)from_description(bad, made);
  }
}

}  // namespace
}  // namespace herald::type
