// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a simplification of the tree (joining runs, turning lists into loops, absorbing a
// loop) moves, loses or reorders a byte; bounds are taken from the wrong item; a cut in the middle of an
// element makes the cursor resume at the wrong place. Every random type is compared with its literal type
// map. A failure prints the seed; HERALD_SEED=<seed> replays it.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/unit/effort.hpp"
#include "tests/unit/type/oracle.hpp"
#include "type/cursor.hpp"
#include "type/pack.hpp"

namespace herald::type {
namespace {

constexpr int kRounds = some_of(4000);
constexpr std::size_t kMaxBytes = 20000;

// User memory large enough for `count` items, with room around it; `base` is where displacement 0 lies.
struct Memory {
  std::vector<unsigned char> cells;
  std::int64_t zero = 0;

  Memory(const std::vector<std::int64_t>& offsets, Prng& prng) {
    std::int64_t lo = 0, hi = 0;
    for (const auto at : offsets) {
      lo = std::min(lo, at);
      hi = std::max(hi, at + 1);
    }
    zero = 16 - lo;
    cells.resize(static_cast<std::size_t>(hi - lo + 32));
    for (auto& c : cells) c = static_cast<unsigned char>(prng.next());
  }
  unsigned char* base() { return cells.data() + zero; }
};

// Two entries may cover the same byte (allowed for sending only).
bool overlaps(std::vector<std::int64_t> offsets) {
  std::sort(offsets.begin(), offsets.end());
  return std::adjacent_find(offsets.begin(), offsets.end()) != offsets.end();
}

void check_bounds(const Sample& s) {
  const Layout& l = *s.layout;
  EXPECT_EQ(l.size(), s.map.size());
  EXPECT_EQ(l.lb(), s.map.lb());
  EXPECT_EQ(l.ub(), s.map.ub());
  EXPECT_EQ(l.true_lb(), s.map.true_lb());
  EXPECT_EQ(l.true_ub(), s.map.true_ub());
  EXPECT_EQ(l.elements(), static_cast<std::int64_t>(s.map.entries.size()));
  const auto offsets = s.map.bytes(1);
  bool run = !offsets.empty();
  for (std::size_t i = 1; i < offsets.size(); ++i) run = run && offsets[i] == offsets[i - 1] + 1;
  EXPECT_EQ(l.run(), run);
  EXPECT_EQ(l.dense(), run && l.extent() == l.size());
}

void check_pack(const Sample& s, std::int64_t count, const std::vector<std::int64_t>& offsets, Prng& prng) {
  Memory memory{offsets, prng};
  std::vector<unsigned char> want, got(offsets.size() + 1, 0xcc);
  for (const auto at : offsets) want.push_back(memory.base()[at]);
  Cursor cursor{s.layout, memory.base(), count};
  ASSERT_EQ(cursor.total(), offsets.size());
  while (cursor.remaining() != 0) {
    const std::size_t place = cursor.position();
    const std::size_t piece = 1 + prng.below(40);
    const std::size_t moved = cursor.pack(got.data() + place, piece);
    ASSERT_EQ(moved, std::min(piece, offsets.size() - place));
    ASSERT_EQ(cursor.position(), place + moved);
  }
  EXPECT_EQ(got.back(), 0xcc);
  got.pop_back();
  EXPECT_EQ(got, want);
  EXPECT_EQ(cursor.pack(got.data(), 1), 0u);
}

void check_unpack(const Sample& s, std::int64_t count, const std::vector<std::int64_t>& offsets, Prng& prng) {
  Memory memory{offsets, prng};
  std::vector<unsigned char> packed(offsets.size());
  for (auto& c : packed) c = static_cast<unsigned char>(prng.next());
  Memory want = memory;
  for (std::size_t i = 0; i < offsets.size(); ++i) want.base()[offsets[i]] = packed[i];
  Cursor cursor{*s.layout, memory.base(), count};
  while (cursor.remaining() != 0) cursor.unpack(packed.data() + cursor.position(), 1 + prng.below(60));
  EXPECT_EQ(memory.cells, want.cells);  // the gaps too
}

void check_runs(const Sample& s, std::int64_t count, const std::vector<std::int64_t>& offsets, Prng& prng) {
  Memory memory{offsets, prng};
  Cursor cursor{*s.layout, memory.base(), count};
  if (prng.below(3) == 0) cursor.seek(prng.below(offsets.size() + 1));
  std::size_t place = cursor.position();
  while (cursor.remaining() != 0) {
    Run runs[6];
    const std::size_t room = 1 + prng.below(6), limit = 1 + prng.below(100);
    const std::size_t count_runs = cursor.next_runs({runs, room}, limit);
    ASSERT_GE(count_runs, 1u);
    std::size_t sum = 0;
    for (std::size_t r = 0; r < count_runs; ++r) {
      ASSERT_GT(runs[r].bytes, 0u);
      for (std::size_t b = 0; b < runs[r].bytes; ++b, ++place, ++sum) {
        ASSERT_LT(place, offsets.size());
        ASSERT_EQ(static_cast<unsigned char*>(runs[r].data) + b, memory.base() + offsets[place]);
      }
    }
    ASSERT_LE(sum, limit);
    ASSERT_EQ(cursor.position(), place);
    // Short only if there was no room for another run.
    const bool cut_short = sum < limit && place < offsets.size();
    ASSERT_TRUE(!cut_short || count_runs == room);
  }
  EXPECT_EQ(place, offsets.size());
}

void check_elements(const Sample& s, std::int64_t count) {
  std::int64_t bytes = 0, elements = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    for (const Entry& e : s.map.entries) {
      ASSERT_EQ(elements_in(*s.layout, static_cast<std::uint64_t>(bytes)), elements);
      ASSERT_EQ(bytes_of_elements(*s.layout, elements), bytes);
      for (int b = 1; b < row_of(e.basic).size; ++b) {
        ASSERT_EQ(elements_in(*s.layout, static_cast<std::uint64_t>(bytes + b)), -1);
      }
      bytes += row_of(e.basic).size;
      ++elements;
    }
    ASSERT_EQ(items_in(*s.layout, static_cast<std::uint64_t>(bytes)), s.map.size() == 0 ? 0 : i + 1);
  }
}

// Small integers in every number, so that any kind survives; logical and character kinds alike.
void check_external(const Sample& s, std::int64_t count, const std::vector<std::int64_t>& offsets,
                    Prng& prng) {
  Memory memory{offsets, prng};
  std::int64_t size = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    for (const Entry& e : s.map.entries) {
      size += row_of(e.basic).external;
      unsigned char* at = memory.base() + i * s.map.extent() + e.at;
      std::memset(at, 0, static_cast<std::size_t>(row_of(e.basic).size));
      const Repr repr = row_of(e.basic).repr;
      if (repr == Repr::fx || repr == Repr::cx) {
        const long double value = static_cast<long double>(prng.next()) / 7;
        std::memcpy(at, &value, 10);
      } else {
        at[0] = static_cast<unsigned char>(prng.next());
      }
    }
  }
  ASSERT_EQ(external32_size(*s.layout, count), size);
  std::vector<unsigned char> packed(static_cast<std::size_t>(size));
  ASSERT_EQ(pack_external32(*s.layout, memory.base(), count, packed.data()), Status::ok);
  Memory back = memory;
  for (const auto at : offsets) back.base()[at] = 0;
  unpack_external32(*s.layout, back.base(), count, packed.data());
  EXPECT_EQ(back.cells, memory.cells);
}

void check(const Sample& s, Prng& prng) {
  check_bounds(s);
  const std::int64_t count = static_cast<std::int64_t>(prng.below(5));
  const auto offsets = s.map.bytes(count);
  if (offsets.size() > kMaxBytes) return;
  check_pack(s, count, offsets, prng);
  check_runs(s, count, offsets, prng);
  check_elements(s, count);
  if (!overlaps(offsets)) {
    check_unpack(s, count, offsets, prng);
    check_external(s, count, offsets, prng);
  }
}

TEST(RandomType, agrees_with_its_type_map) {
  const std::uint64_t seed = seed_of_day();
  int checked = 0;
  for (int round = 0; round < kRounds; ++round) {
    const bool replay = std::getenv("HERALD_SEED") != nullptr;
    const std::uint64_t one = replay ? seed : seed + static_cast<std::uint64_t>(round) * 7919;
    Prng prng{one};
    const Sample s = random_sample(prng, static_cast<int>(1 + prng.below(4)));
    if (testing::Test::HasFailure()) FAIL() << "HERALD_SEED=" << one;
    SCOPED_TRACE("HERALD_SEED=" + std::to_string(one) + " " + s.text);
    if (s.map.entries.size() > 4000) continue;
    check(s, prng);
    ++checked;
    if (testing::Test::HasFailure() || replay) return;
  }
  EXPECT_GT(checked, kRounds * 9 / 10);
}

// The signature must depend on the sequence of kinds and on nothing else.
TEST(RandomType, signature_depends_on_the_sequence_of_kinds_only) {
  Prng prng{seed_of_day()};
  for (int round = 0; round < 1000; ++round) {
    const Sample s = random_sample(prng, 3);
    if (s.map.entries.size() > 1000 || s.map.entries.empty()) continue;
    std::vector<std::int64_t> blocks, at;
    std::vector<const Layout*> kinds;
    for (const Entry& e : s.map.entries) {
      blocks.push_back(1);
      at.push_back(static_cast<std::int64_t>(prng.below(1000)));
      kinds.push_back(&basic_layout(e.basic));
    }
    LayoutRef other;
    ASSERT_EQ(structure(blocks, at, kinds, other), Status::ok);
    EXPECT_EQ(s.layout->signature(), other->signature()) << s.text;
    EXPECT_EQ(s.layout->signature_of(3), other->signature_of(3)) << s.text;
    blocks[0] = 2;
    ASSERT_EQ(structure(blocks, at, kinds, other), Status::ok);
    EXPECT_NE(s.layout->signature(), other->signature()) << s.text;
  }
}

}  // namespace
}  // namespace herald::type
