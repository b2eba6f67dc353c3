// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a rule of the standard for empty types, negative strides, explicit bounds or alignment
// is broken; sizes overflow unnoticed; a huge type costs memory or time that grows with its count; a
// predefined kind has the wrong size.
#include "type/layout.hpp"

#include <gtest/gtest.h>

#include "tests/unit/type/oracle.hpp"
#include "type/cursor.hpp"
#include "type/node.hpp"
#include "type/number.hpp"
#include "type/pack.hpp"

namespace herald::type {
namespace {

using Vec = std::vector<std::int64_t>;

const Layout& kind(Basic basic) { return basic_layout(basic); }

void same(const Layout& layout, const Map& map, const std::string& text) {
  ASSERT_EQ(layout.size(), map.size()) << text;
  ASSERT_EQ(layout.lb(), map.lb()) << text;
  ASSERT_EQ(layout.ub(), map.ub()) << text;
  ASSERT_EQ(layout.true_lb(), map.true_lb()) << text;
  ASSERT_EQ(layout.true_ub(), map.true_ub()) << text;
  const auto offsets = map.bytes(2);
  Cursor cursor{layout, reinterpret_cast<void*>(1 << 20), 2};
  ASSERT_EQ(cursor.total(), offsets.size()) << text;
  for (const auto at : offsets) {
    Run run;
    ASSERT_EQ(cursor.next_runs({&run, 1}, 1), 1u);
    ASSERT_EQ(reinterpret_cast<std::int64_t>(run.data), (1 << 20) + at) << text;
  }
}

TEST(Basic, sizes_are_those_of_c) {
  struct ShortInt {
    short value;
    int index;
  };
  struct LongDoubleInt {
    long double value;
    int index;
  };
  EXPECT_EQ(kind(Basic::c_long).size(), static_cast<std::int64_t>(sizeof(long)));
  EXPECT_EQ(kind(Basic::c_wchar).size(), static_cast<std::int64_t>(sizeof(wchar_t)));
  EXPECT_EQ(kind(Basic::c_bool).size(), static_cast<std::int64_t>(sizeof(bool)));
  EXPECT_EQ(kind(Basic::f_complex32).size(), 32);
  EXPECT_EQ(kind(Basic::f_complex4).size(), 4);
  EXPECT_EQ(kind(Basic::short_int).size(), 6);
  EXPECT_EQ(kind(Basic::short_int).extent(), static_cast<std::int64_t>(sizeof(ShortInt)));
  EXPECT_FALSE(kind(Basic::short_int).run());
  EXPECT_EQ(kind(Basic::double_int).size(), 12);
  EXPECT_EQ(kind(Basic::double_int).extent(), 16);
  EXPECT_TRUE(kind(Basic::double_int).run());
  EXPECT_FALSE(kind(Basic::double_int).dense());
  EXPECT_EQ(kind(Basic::long_double_int).extent(), static_cast<std::int64_t>(sizeof(LongDoubleInt)));
  EXPECT_TRUE(kind(Basic::two_int).dense());
  for (const BasicRow& row : basic_rows()) {
    const Layout& layout = kind(row.basic);
    EXPECT_EQ(layout.size(), row.size) << row.name;
    EXPECT_EQ(layout.extent(), row.extent) << row.name;
    EXPECT_EQ(layout.basic(), row.basic) << row.name;
    EXPECT_EQ(layout.elements(), row.basic == Basic::none ? 0 : row.klass == Class::pair ? 2 : 1);
  }
}

TEST(Layout, small_vectors_all_of_them) {
  for (const Basic basic : {Basic::c_char, Basic::c_int, Basic::double_int, Basic::short_int}) {
    const Map item = Map::of(basic);
    for (std::int64_t count = 0; count <= 3; ++count) {
      for (std::int64_t block = 0; block <= 3; ++block) {
        for (std::int64_t stride = -5; stride <= 5; ++stride) {
          const std::string text = std::string(row_of(basic).name) + " " + std::to_string(count) + " " +
                                   std::to_string(block) + " " + std::to_string(stride);
          Map map, hmap;
          for (std::int64_t i = 0; i < count; ++i) {
            map.add_row(item, block, i * stride * item.extent());
            hmap.add_row(item, block, i * stride);
          }
          LayoutRef layout;
          ASSERT_EQ(vector(count, block, stride, kind(basic), layout), Status::ok);
          same(*layout, map, text);
          ASSERT_EQ(hvector(count, block, stride, kind(basic), layout), Status::ok);
          same(*layout, hmap, "h " + text);
        }
      }
    }
  }
}

TEST(Layout, small_structures_all_of_them) {
  const Basic kinds[] = {Basic::none, Basic::c_char, Basic::c_double};
  for (int code = 0; code < 3 * 3 * 3 * 3 * 6 * 6; ++code) {
    int rest = code;
    auto take = [&rest](int n) {
      const int v = rest % n;
      rest /= n;
      return v;
    };
    const Basic a = kinds[take(3)], b = kinds[take(3)];
    const Vec blocks = {take(3), take(3)};
    const Vec at = {take(6) * 3 - 4, take(6) * 4 - 8};
    Map map;
    map.add_row(Map::of(a), blocks[0], at[0]);
    map.add_row(Map::of(b), blocks[1], at[1]);
    const Layout* items[] = {&kind(a), &kind(b)};
    LayoutRef layout;
    ASSERT_EQ(structure(blocks, at, items, layout), Status::ok);
    same(*layout, map, std::to_string(code));
  }
}

TEST(Layout, empty_types) {
  LayoutRef layout, marked;
  ASSERT_EQ(contiguous(0, kind(Basic::c_int), layout), Status::ok);
  EXPECT_EQ(layout->size(), 0);
  EXPECT_EQ(layout->extent(), 0);
  EXPECT_EQ(layout->basic(), Basic::none);
  ASSERT_EQ(structure({}, {}, {}, layout), Status::ok);
  EXPECT_EQ(layout->size(), 0);
  ASSERT_EQ(resized(*layout, -3, 10, marked), Status::ok);
  EXPECT_EQ(marked->lb(), -3);
  EXPECT_EQ(marked->ub(), 7);
  EXPECT_EQ(marked->true_extent(), 0);
  ASSERT_EQ(contiguous(4, *marked, layout), Status::ok);
  EXPECT_EQ(layout->extent(), 40);
  Cursor cursor{*layout, nullptr, 1000};
  EXPECT_EQ(cursor.total(), 0u);
  EXPECT_TRUE(cursor.contiguous());
  char c;
  EXPECT_EQ(cursor.pack(&c, 1), 0u);
}

// The displacement of a block without elements does not matter.
TEST(Layout, empty_blocks_do_not_affect_bounds) {
  LayoutRef layout;
  ASSERT_EQ(indexed(Vec{0, 2, 0}, Vec{INT64_MAX, 3, INT64_MIN}, kind(Basic::c_int), layout), Status::ok);
  EXPECT_EQ(layout->lb(), 12);
  EXPECT_EQ(layout->size(), 8);
  EXPECT_TRUE(layout->run());
}

TEST(Layout, resized_bounds_hide_those_of_the_data) {
  LayoutRef wide, both;
  ASSERT_EQ(resized(kind(Basic::c_char), -4, 6, wide), Status::ok);
  const Layout* items[] = {&kind(Basic::c_double), wide.get()};
  ASSERT_EQ(structure(Vec{1, 1}, Vec{16, 0}, items, both), Status::ok);
  EXPECT_EQ(both->lb(), -4);
  EXPECT_EQ(both->ub(), 2);  // the double beyond it does not count, nor does its alignment
  EXPECT_EQ(both->true_ub(), 24);
}

TEST(Layout, huge_counts_cost_nothing) {
  LayoutRef row, grid;
  const std::int64_t many = std::int64_t{1} << 33;
  ASSERT_EQ(vector(many, 3, 7, kind(Basic::c_double), row), Status::ok);
  EXPECT_EQ(row->size(), many * 24);
  EXPECT_EQ(row->extent(), ((many - 1) * 7 + 3) * 8);
  EXPECT_EQ(row->elements(), many * 3);
  Cursor cursor{*row, nullptr, 2};
  EXPECT_EQ(cursor.total(), static_cast<std::uint64_t>(many) * 48);
  cursor.seek(static_cast<std::uint64_t>(many) * 24 + 24 * 5 + 1);
  type::Run runs[2];
  ASSERT_EQ(cursor.next_runs(runs, 30), 2u);
  EXPECT_EQ(reinterpret_cast<std::int64_t>(runs[0].data), row->extent() + 5 * 56 + 1);
  EXPECT_EQ(runs[0].bytes, 23u);
  EXPECT_EQ(runs[1].bytes, 7u);
  ASSERT_EQ(contiguous(std::int64_t{1} << 20, *row, grid), Status::ok);
  EXPECT_EQ(elements_in(*grid, static_cast<std::uint64_t>(grid->size() - 8)), grid->elements() - 1);
  EXPECT_EQ(bytes_of_elements(*grid, grid->elements() - 1), grid->size() - 8);
}

TEST(Layout, overflow_is_refused) {
  LayoutRef out, big;
  const std::int64_t huge = std::int64_t{1} << 62;
  EXPECT_EQ(contiguous(huge, kind(Basic::c_double), out), Status::bad_argument);
  EXPECT_EQ(hvector(3, 1, huge, kind(Basic::c_double), out), Status::bad_argument);
  EXPECT_EQ(hvector(3, 1, -huge, kind(Basic::c_double), out), Status::bad_argument);
  EXPECT_EQ(vector(2, 1, huge, kind(Basic::c_double), out), Status::bad_argument);
  EXPECT_EQ(hindexed(Vec{1}, Vec{INT64_MAX - 3}, kind(Basic::c_double), out), Status::bad_argument);
  EXPECT_EQ(hindexed(Vec{1, 1}, Vec{-huge, huge}, kind(Basic::c_double), out), Status::bad_argument);
  EXPECT_EQ(resized(kind(Basic::c_int), huge, huge, out), Status::bad_argument);
  EXPECT_EQ(subarray(Vec{huge, 4}, Vec{1, 1}, Vec{0, 0}, Order::c, kind(Basic::c_int), out),
            Status::bad_argument);
  ASSERT_EQ(contiguous(huge, kind(Basic::c_char), big), Status::ok);
  EXPECT_EQ(contiguous(2, *big, out), Status::bad_argument);
  const Layout* items[] = {big.get(), big.get()};
  EXPECT_EQ(structure(Vec{1, 1}, Vec{0, 0}, items, out), Status::bad_argument);
  EXPECT_TRUE(big->fits(1));
  EXPECT_FALSE(big->fits(2));
  EXPECT_FALSE(out);
}

TEST(Layout, invalid_arguments_are_refused) {
  LayoutRef out;
  const Layout& item = kind(Basic::c_int);
  EXPECT_EQ(contiguous(-1, item, out), Status::bad_argument);
  EXPECT_EQ(vector(-1, 1, 1, item, out), Status::bad_argument);
  EXPECT_EQ(vector(1, -1, 1, item, out), Status::bad_argument);
  EXPECT_EQ(indexed(Vec{1, -2}, Vec{0, 1}, item, out), Status::bad_argument);
  EXPECT_EQ(indexed(Vec{1}, Vec{0, 1}, item, out), Status::bad_argument);
  EXPECT_EQ(subarray(Vec{3}, Vec{2}, Vec{2}, Order::c, item, out), Status::bad_argument);
  EXPECT_EQ(subarray(Vec{3}, Vec{0}, Vec{0}, Order::c, item, out), Status::bad_argument);
  EXPECT_EQ(subarray({}, {}, {}, Order::c, item, out), Status::bad_argument);
}

TEST(Layout, depth_is_bounded) {
  LayoutRef layout{&kind(Basic::c_int)};
  Status status = Status::ok;
  int made = 0;
  for (; made < 3 * kMaxDepth && status == Status::ok; ++made) {
    const Layout* items[] = {&kind(Basic::c_char), layout.get()};
    LayoutRef next;
    status = structure(Vec{1, 1}, Vec{0, 8 + made % 2}, items, next);
    if (status == Status::ok) layout = next;
  }
  EXPECT_EQ(status, Status::unsupported);
  EXPECT_GE(made, kMaxDepth - 1);
  EXPECT_EQ(layout->elements_tree().depth, kMaxDepth);
  std::vector<char> memory(static_cast<std::size_t>(layout->true_ub()) + 8), out(memory.size());
  Cursor cursor{*layout, memory.data(), 1};
  EXPECT_EQ(cursor.pack(out.data(), out.size()), static_cast<std::size_t>(layout->size()));
}

// These types must become plain loops, or packing would be slow.
TEST(Layout, trees_are_simplified) {
  LayoutRef a, b;
  ASSERT_EQ(vector(10, 4, 4, kind(Basic::c_int), a), Status::ok);
  EXPECT_TRUE(a->dense());
  ASSERT_EQ(indexed_block(2, Vec{0, 5, 10, 15}, kind(Basic::c_int), a), Status::ok);
  EXPECT_EQ(a->move_tree().kind, Node::Kind::loop);
  EXPECT_EQ(a->move_tree().child->kind, Node::Kind::leaf);
  const Layout* items[] = {&kind(Basic::c_int), &kind(Basic::c_float), &kind(Basic::c_double)};
  ASSERT_EQ(structure(Vec{1, 1, 1}, Vec{0, 4, 8}, items, a), Status::ok);
  EXPECT_TRUE(a->dense());
  EXPECT_EQ(a->elements_tree().kind, Node::Kind::parts);
  ASSERT_EQ(contiguous(1000, *a, b), Status::ok);
  EXPECT_TRUE(b->dense());
  ASSERT_EQ(structure(Vec{1, 1, 1}, Vec{0, 4, 16}, items, a), Status::ok);
  EXPECT_EQ(a->move_tree().kind, Node::Kind::loop);  // 8 bytes at 0, 8 bytes at 16
  EXPECT_EQ(a->elements_tree().count, 3);
  ASSERT_EQ(subarray(Vec{8, 8, 8}, Vec{4, 8, 8}, Vec{2, 0, 0}, Order::c, kind(Basic::c_int), a), Status::ok);
  EXPECT_TRUE(a->run());
  ASSERT_EQ(resized(kind(Basic::c_double), 0, 24, a), Status::ok);
  ASSERT_EQ(contiguous(100, *a, b), Status::ok);
  ASSERT_EQ(contiguous(100, *b, a), Status::ok);
  EXPECT_EQ(a->move_tree().kind, Node::Kind::loop);
  EXPECT_EQ(a->move_tree().count, 10000);
}

}  // namespace
}  // namespace herald::type
