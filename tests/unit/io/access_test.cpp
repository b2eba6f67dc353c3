// SPDX-License-Identifier: BSD-3-Clause
// Access of one rank: bytes at the wrong place, gaps that change, a wrong count at the end of the file or
// after an error. Random types are compared with a copy byte by byte.
#include "io/access.hpp"

#include <gtest/gtest.h>

#include <numeric>

#include "base/prng.hpp"
#include "memory_storage.hpp"
#include "type/build.hpp"

namespace herald::io {
namespace {

const type::Layout& byte() { return type::basic_layout(type::Basic::byte); }

// Blocks of random lengths with random gaps.
type::LayoutRef random_blocks(Prng& prng, std::int64_t most_blocks, std::int64_t longest) {
  const auto count = static_cast<std::int64_t>(1 + prng.below(static_cast<std::uint64_t>(most_blocks)));
  std::vector<std::int64_t> blocks, at;
  std::int64_t next = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    next += static_cast<std::int64_t>(prng.below(static_cast<std::uint64_t>(longest)));
    at.push_back(next);
    blocks.push_back(static_cast<std::int64_t>(1 + prng.below(static_cast<std::uint64_t>(longest))));
    next += blocks.back();
  }
  type::LayoutRef out;
  EXPECT_EQ(type::hindexed(blocks, at, byte(), out), Status::ok);
  return out;
}

std::vector<std::int64_t> offsets(const View& view, std::int64_t position, std::int64_t count) {
  std::vector<std::int64_t> out;
  for (std::int64_t i = 0; i < count; ++i) out.push_back(view.offset_of(position + i));
  return out;
}

class Round {
 public:
  explicit Round(std::uint64_t seed) : prng_(seed) {
    memory_type_ = random_blocks(prng_, 400, 1 + static_cast<std::int64_t>(prng_.below(40)));
    file_type_ = random_blocks(prng_, 50, 1 + static_cast<std::int64_t>(prng_.below(60)));
    view_ = View(static_cast<std::int64_t>(prng_.below(50)), byte(), *file_type_);
    items_ = static_cast<std::int64_t>(1 + prng_.below(4));
    memory_.resize(static_cast<std::size_t>(memory_type_->true_ub() + memory_type_->extent() * items_));
    std::iota(memory_.begin(), memory_.end(), static_cast<char>(seed));
    position_ = static_cast<std::int64_t>(prng_.below(3000));
    static constexpr std::int64_t kGaps[] = {-1, 5, kAnyGap};
    sieve_ = {static_cast<std::int64_t>(1 + prng_.below(2000)), kGaps[prng_.below(3)]};
    storage_.data.assign(static_cast<std::size_t>(prng_.below(20000)), 'o');
  }

  void write() {
    std::vector<char> want = storage_.data, packed(static_cast<std::size_t>(memory_type_->size() * items_));
    cursor().pack(packed.data(), packed.size());
    const auto at = offsets(view_, position_, static_cast<std::int64_t>(packed.size()));
    want.resize(std::max(want.size(), static_cast<std::size_t>(at.back() + 1)));
    for (std::size_t i = 0; i < at.size(); ++i) want[static_cast<std::size_t>(at[i])] = packed[i];
    const Outcome out = write_view(storage_, view_, position_, cursor(), sieve_);
    EXPECT_EQ(out.error, 0);
    EXPECT_EQ(out.bytes, static_cast<std::int64_t>(packed.size()));
    EXPECT_EQ(storage_.data, want);
  }

  void read() {
    for (std::size_t i = 0; i < storage_.data.size(); ++i) storage_.data[i] = static_cast<char>(i * 7);
    const auto at = offsets(view_, position_, memory_type_->size() * items_);
    std::vector<char> want = memory_;
    type::Cursor into(memory_type_, want.data(), items_);
    std::int64_t there = 0;
    for (const std::int64_t offset : at) {
      if (offset >= static_cast<std::int64_t>(storage_.data.size())) break;
      into.unpack(&storage_.data[static_cast<std::size_t>(offset)], 1);
      ++there;
    }
    const Outcome out = read_view(storage_, view_, position_, cursor(), sieve_);
    EXPECT_EQ(out.error, 0);
    EXPECT_EQ(out.bytes, there);
    EXPECT_EQ(memory_, want);
  }

 private:
  type::Cursor cursor() { return {memory_type_, memory_.data(), items_}; }
  Prng prng_;
  type::LayoutRef memory_type_, file_type_;
  View view_;
  std::int64_t items_ = 0, position_ = 0;
  std::vector<char> memory_;
  Sieve sieve_{};
  MemoryStorage storage_;
};

TEST(Access, random_types_move_the_right_bytes) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE(seed);
    Round(seed).write();
    Round(seed).read();
    if (HasFailure()) break;
  }
}

TEST(Access, sieving_saves_calls_and_list_io_leaves_gaps_alone) {
  type::LayoutRef blocks;
  ASSERT_EQ(type::vector(100, 1, 8, byte(), blocks), Status::ok);
  const View view(0, byte(), *blocks);
  std::vector<char> memory(100, 'n');
  const type::Cursor cursor = type::Cursor::bytes(memory.data(), memory.size());
  MemoryStorage storage;
  storage.data.assign(1000, 'o');
  EXPECT_EQ(write_view(storage, view, 0, cursor, {4096, kAnyGap}).bytes, 100);
  EXPECT_EQ(storage.writes, 1);
  EXPECT_EQ(storage.reads, 1);
  EXPECT_EQ(write_view(storage, view, 0, cursor, {4096, -1}).bytes, 100);
  EXPECT_EQ(storage.writes, 101);
  EXPECT_EQ(storage.reads, 1);
  EXPECT_EQ(read_view(storage, view, 0, cursor, {4096, kAnyGap}).bytes, 100);
  EXPECT_EQ(storage.reads, 2);
}

TEST(Access, an_error_reports_what_was_written_before) {
  type::LayoutRef blocks;
  ASSERT_EQ(type::vector(10, 4, 8, byte(), blocks), Status::ok);
  const View view(0, byte(), *blocks);
  std::vector<char> memory(40, 'n');
  MemoryStorage storage;
  storage.fails_after = 3;
  const Outcome out =
      write_view(storage, view, 0, type::Cursor::bytes(memory.data(), memory.size()), {4096, -1});
  EXPECT_EQ(out.bytes, 12);
  EXPECT_EQ(out.error, ENOSPC);
}

}  // namespace
}  // namespace herald::io
