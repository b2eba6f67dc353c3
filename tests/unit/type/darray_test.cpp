// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: two processes own one index, or no process does; the order of the array
// and the order of the process grid are mixed up; the last, shorter block is lost.
#include <gtest/gtest.h>

#include "tests/unit/type/oracle.hpp"
#include "type/cursor.hpp"

namespace herald::type {
namespace {

using Vec = std::vector<std::int64_t>;
using Distributions = std::vector<Distribution>;

// The owner of index `i` of a dimension.
std::int64_t owner(Distribution distribution, std::int64_t i, std::int64_t size, std::int64_t darg,
                   std::int64_t procs) {
  switch (distribution) {
    case Distribution::none: return 0;
    case Distribution::cyclic: return i / (darg == kDefaultDarg ? 1 : darg) % procs;
    case Distribution::block: return i / (darg == kDefaultDarg ? (size + procs - 1) / procs : darg);
  }
  return -1;
}

Map brute_force(const Darray& shape, const Map& item) {
  const std::size_t n = shape.sizes.size();
  Vec coordinates(n);
  std::int64_t rest = shape.rank, cells = 1;
  for (std::size_t d = n; d-- > 0; rest /= shape.procs[d]) coordinates[d] = rest % shape.procs[d];
  for (const auto size : shape.sizes) cells *= size;
  Map map;
  for (std::int64_t cell = 0; cell < cells; ++cell) {
    std::int64_t left = cell;
    bool mine = true;
    for (std::size_t k = 0; k < n; ++k) {
      const std::size_t d = shape.order == Order::fortran ? k : n - 1 - k;
      const std::int64_t i = left % shape.sizes[d];
      left /= shape.sizes[d];
      mine = mine && owner(shape.distributions[d], i, shape.sizes[d], shape.dargs[d], shape.procs[d]) ==
                         coordinates[d];
    }
    if (mine) map.add(item, cell * item.extent());
  }
  return Map::sized(map, 0, cells * item.extent());
}

void check(const Darray& shape, Basic basic) {
  const Map want = brute_force(shape, Map::of(basic));
  LayoutRef layout;
  ASSERT_EQ(darray(shape, basic_layout(basic), layout), Status::ok);
  ASSERT_EQ(layout->size(), want.size());
  ASSERT_EQ(layout->lb(), 0);
  ASSERT_EQ(layout->ub(), want.ub());
  ASSERT_EQ(layout->true_lb(), want.true_lb());
  ASSERT_EQ(layout->true_ub(), want.true_ub());
  Cursor cursor{*layout, reinterpret_cast<void*>(4096), 1};
  for (const auto at : want.bytes(1)) {
    Run run;
    ASSERT_EQ(cursor.next_runs({&run, 1}, 1), 1u);
    ASSERT_EQ(reinterpret_cast<std::int64_t>(run.data), 4096 + at);
  }
}

TEST(Darray, one_dimension_all_small_cases) {
  for (const Distribution distribution : {Distribution::none, Distribution::block, Distribution::cyclic}) {
    for (std::int64_t size = 1; size <= 9; ++size) {
      for (std::int64_t procs = 1; procs <= 4; ++procs) {
        for (std::int64_t darg = -1; darg <= 5; ++darg) {
          const bool block_too_small = distribution == Distribution::block && darg > 0 && darg * procs < size;
          const bool bad = (distribution == Distribution::none && procs != 1) ||
                           (distribution != Distribution::none && darg == 0) || block_too_small;
          for (std::int64_t rank = 0; rank < procs; ++rank) {
            const Vec sizes{size}, dargs{darg}, grid{procs};
            const Distributions distributions{distribution};
            const Darray shape{procs, rank, sizes, distributions, dargs, grid, Order::c};
            if (bad) {
              LayoutRef out;
              EXPECT_EQ(darray(shape, basic_layout(Basic::c_int), out), Status::bad_argument);
            } else {
              check(shape, Basic::c_int);
            }
            if (testing::Test::HasFatalFailure()) {
              FAIL() << "size " << size << " procs " << procs << " darg " << darg << " rank " << rank;
            }
          }
        }
      }
    }
  }
}

TEST(Darray, random_shapes) {
  Prng prng{seed_of_day()};
  for (int round = 0; round < 600; ++round) {
    const std::size_t n = 1 + prng.below(3);
    Vec sizes(n), dargs(n), grid(n);
    Distributions distributions(n);
    std::int64_t ranks = 1;
    for (std::size_t d = 0; d < n; ++d) {
      sizes[d] = 1 + static_cast<std::int64_t>(prng.below(7));
      distributions[d] = static_cast<Distribution>(prng.below(3));
      grid[d] = distributions[d] == Distribution::none ? 1 : 1 + static_cast<std::int64_t>(prng.below(3));
      dargs[d] = kDefaultDarg;
      if (prng.below(2) == 0) {
        dargs[d] = 1 + static_cast<std::int64_t>(prng.below(4));
        if (distributions[d] == Distribution::block) dargs[d] += (sizes[d] - 1) / grid[d];
      }
      ranks *= grid[d];
    }
    const Order order = prng.below(2) == 0 ? Order::c : Order::fortran;
    for (std::int64_t rank = 0; rank < ranks; ++rank) {
      check({ranks, rank, sizes, distributions, dargs, grid, order},
            round % 2 == 0 ? Basic::c_int : Basic::short_int);
      if (testing::Test::HasFailure()) FAIL() << "round " << round << " rank " << rank;
    }
  }
}

TEST(Darray, wrong_grids_are_refused) {
  const Vec sizes{4, 4}, dargs{-1, -1}, grid{2, 2};
  const Distributions distributions{Distribution::block, Distribution::block};
  LayoutRef out;
  const Layout& item = basic_layout(Basic::c_int);
  EXPECT_EQ(darray({5, 0, sizes, distributions, dargs, grid, Order::c}, item, out), Status::bad_argument);
  EXPECT_EQ(darray({4, 4, sizes, distributions, dargs, grid, Order::c}, item, out), Status::bad_argument);
  EXPECT_EQ(darray({4, -1, sizes, distributions, dargs, grid, Order::c}, item, out), Status::bad_argument);
  EXPECT_EQ(darray({4, 3, sizes, distributions, dargs, grid, Order::c}, item, out), Status::ok);
}

}  // namespace
}  // namespace herald::type
