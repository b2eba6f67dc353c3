// SPDX-License-Identifier: BSD-3-Clause
// Views: wrong offsets at the seams of filetypes, offsets beyond 32 bits, types of many pieces.
#include "io/view.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "type/build.hpp"

namespace herald::io {
namespace {

const type::Layout& byte() { return type::basic_layout(type::Basic::byte); }
const type::Layout& number() { return type::basic_layout(type::Basic::c_int); }

type::LayoutRef vector_of(std::int64_t count, std::int64_t block, std::int64_t stride) {
  type::LayoutRef out;
  EXPECT_EQ(type::vector(count, block, stride, number(), out), Status::ok);
  return out;
}

// Offsets of the first `count` bytes, literally.
std::vector<std::int64_t> offsets(const View& view, std::int64_t position, std::int64_t count) {
  std::vector<std::int64_t> out;
  Walker walker(view, position, count);
  for (Segment segment{}; walker.next(segment);)
    for (std::int64_t i = 0; i < segment.bytes; ++i) out.push_back(segment.offset + i);
  return out;
}

TEST(View, bytes_of_a_file_are_themselves) {
  const View view;
  EXPECT_TRUE(view.contiguous() && view.ordered());
  EXPECT_EQ(view.offset_of(5), 5);
  EXPECT_EQ(view.position_at(std::int64_t{1} << 40), std::int64_t{1} << 40);
}

TEST(View, copies_of_a_filetype_follow_each_other) {
  type::LayoutRef filetype;
  ASSERT_EQ(type::resized(*vector_of(2, 1, 2), 0, 20, filetype), Status::ok);
  const View view(100, number(), *filetype);
  EXPECT_EQ(view.etype_bytes(), 4);
  const std::vector<std::int64_t> want = {102, 103, 108, 109, 110, 111, 120, 121, 122, 123, 128};
  EXPECT_EQ(offsets(view, 2, 11), want);
  EXPECT_EQ(view.offset_of(8), 120);
}

TEST(View, positions_and_offsets_are_inverse) {
  const type::LayoutRef filetype = vector_of(1000, 3, 7);
  const View view(13, number(), *filetype);
  ASSERT_TRUE(view.ordered());
  for (std::int64_t position = 0; position < 30000; position += 17)
    ASSERT_EQ(view.position_at(view.offset_of(position)), position);
  EXPECT_EQ(view.position_at(0), 0);
  EXPECT_EQ(view.position_at(13 + 12), 12);  // in the first gap
  EXPECT_EQ(view.position_at(13 + 20), 12);
}

TEST(View, offsets_beyond_32_bits_and_10000_pieces) {
  std::vector<std::int64_t> at(10000);
  for (std::size_t i = 0; i < at.size(); ++i) at[i] = static_cast<std::int64_t>(i * i) * 64;
  type::LayoutRef filetype;
  ASSERT_EQ(type::hindexed_block(4, at, byte(), filetype), Status::ok);
  const View view(std::int64_t{1} << 33, byte(), *filetype);
  EXPECT_EQ(view.offset_of(4 * 9999), (std::int64_t{1} << 33) + at[9999]);
  EXPECT_EQ(view.position_at((std::int64_t{1} << 33) + at[5000]), 4 * 5000);
  const std::int64_t far = std::int64_t{1} << 28;  // copies of the filetype
  EXPECT_EQ(view.offset_of(far * 40000), (std::int64_t{1} << 33) + far * filetype->extent());
  EXPECT_EQ(view.position_at(view.offset_of(far * 40000 + 7)), far * 40000 + 7);
}

TEST(View, disordered_filetypes_are_noticed) {
  const std::vector<std::int64_t> back = {8, 0}, over = {0, 2}, good = {0, 8};
  type::LayoutRef layout;
  ASSERT_EQ(type::hindexed_block(1, back, number(), layout), Status::ok);
  EXPECT_FALSE(View(0, number(), *layout).ordered());
  EXPECT_EQ(order_of(*layout), Order::decreasing);
  ASSERT_EQ(type::hindexed_block(1, over, number(), layout), Status::ok);
  EXPECT_FALSE(View(0, number(), *layout).ordered());
  EXPECT_EQ(order_of(*layout), Order::overlapping);
  ASSERT_EQ(type::hindexed_block(1, good, number(), layout), Status::ok);
  EXPECT_TRUE(View(0, number(), *layout).ordered());
  type::LayoutRef tight;  // copies would interleave
  ASSERT_EQ(type::resized(*layout, 0, 4, tight), Status::ok);
  EXPECT_FALSE(View(0, number(), *tight).ordered());
  EXPECT_EQ(order_of(*tight), Order::increasing);
}

}  // namespace
}  // namespace herald::io
