// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a block is found at a wrong place after empty ones; a block that does not fit
// overwrites other memory; a list that lies about its lengths is believed; a block that is too long for a
// list is taken for an empty one.
#include "coll/block_list.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

namespace herald::coll {
namespace {

constexpr std::size_t kBlocks = 4;
constexpr std::uint64_t kRoom = 20;

class BlockListTest : public ::testing::Test {
 protected:
  BlockListTest() {
    Builder builder;
    list_ = scratch_list(builder, kBlocks, kRoom);
    memory_.assign(list_.bytes + 8, '#');
    places_.at[1] = reinterpret_cast<std::uintptr_t>(out_);
    places_.at[2] = reinterpret_cast<std::uintptr_t>(memory_.data());
  }
  static Piece plain(Buffer buffer, std::size_t bytes) {
    Piece piece;
    piece.buffer = buffer;
    piece.bytes = bytes;
    return piece;
  }
  bool add(std::size_t index, const char* text) {
    places_.at[0] = reinterpret_cast<std::uintptr_t>(text);
    return copy_block(plain(Buffer::send, std::strlen(text)), list_block(list_, index), places_);
  }
  // "-" if it cannot be read.
  std::string block(std::size_t index, std::size_t room = sizeof out_) {
    std::memset(out_, 0, sizeof out_);
    return copy_block(list_block(list_, index), plain(Buffer::recv, room), places_) ? out_ : "-";
  }
  void set_end(std::size_t index, std::uint32_t end) {
    std::memcpy(memory_.data() + index * sizeof end, &end, sizeof end);
  }

  Piece list_;
  Places places_;
  std::vector<char> memory_;
  char out_[32];
};

TEST_F(BlockListTest, blocks_have_any_length) {
  ASSERT_TRUE(add(0, "") && add(1, "one") && add(2, "") && add(3, "fourteen bytes"));
  EXPECT_EQ(block(0), "");
  EXPECT_EQ(block(1), "one");
  EXPECT_EQ(block(2), "");
  EXPECT_EQ(block(3), "fourteen bytes");
  EXPECT_EQ(cursor(filled_part(list_), places_).total(), kBlocks * 4 + 17);
}

TEST_F(BlockListTest, a_block_moves_to_another_list) {
  ASSERT_TRUE(add(0, "a") && add(1, "bc") && add(2, "") && add(3, "def"));
  Builder builder;
  (void)builder.scratch(list_.bytes);
  const Piece other = scratch_list(builder, 2, kRoom);
  memory_.resize(static_cast<std::size_t>(other.offset) + other.bytes);
  places_.at[2] = reinterpret_cast<std::uintptr_t>(memory_.data());
  ASSERT_TRUE(copy_block(list_block(list_, 3), list_block(other, 0), places_));
  ASSERT_TRUE(copy_block(list_block(list_, 1), list_block(other, 1), places_));
  list_ = other;
  EXPECT_EQ(block(0), "def");
  EXPECT_EQ(block(1), "bc");
}

TEST_F(BlockListTest, a_block_without_room_is_left_out) {
  ASSERT_TRUE(add(0, "twelve bytes"));
  EXPECT_FALSE(add(1, "nine more"));
  ASSERT_TRUE(add(2, "8 bytes.") && add(3, ""));
  EXPECT_EQ(block(0), "twelve bytes");
  EXPECT_EQ(block(1), "");
  EXPECT_EQ(block(2), "8 bytes.");
  EXPECT_EQ(block(2, 7), "-") << "more data than room";
  EXPECT_EQ(memory_[list_.bytes], '#');
}

TEST_F(BlockListTest, a_block_that_was_left_out_is_not_an_empty_one) {
  ASSERT_TRUE(add(0, "a") && copy_block(left_out(), list_block(list_, 1), places_) && add(2, ""));
  ASSERT_TRUE(copy_block(list_block(list_, 1), list_block(list_, 3), places_));
  EXPECT_EQ(block(0), "a");
  EXPECT_EQ(block(1), "-");
  EXPECT_EQ(block(2), "");
  EXPECT_EQ(block(3), "-");
  EXPECT_EQ(cursor(filled_part(list_), places_).total(), kBlocks * 4 + 1);
}

TEST_F(BlockListTest, a_damaged_list_is_refused) {
  ASSERT_TRUE(add(0, "a") && add(1, "bc") && add(2, "def") && add(3, ""));
  set_end(1, static_cast<std::uint32_t>(list_.bytes) + 1);
  EXPECT_EQ(block(1), "-") << "ends behind the list";
  EXPECT_EQ(block(2), "-") << "begins behind its end";
  set_end(1, 3);
  EXPECT_EQ(block(2), "-") << "begins among the lengths";
  set_end(3, 0x7fffffff);
  EXPECT_EQ(cursor(filled_part(list_), places_).total(), list_.bytes);
}

}  // namespace
}  // namespace herald::coll
