// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: accesses that MPI allows are reported, in particular scattered ones that interleave;
// a conflict is missed, or reported after a synchronisation; the text names the wrong accesses.
#include "rma/conflicts.hpp"

#include <gtest/gtest.h>

#include "type/build.hpp"

using namespace herald;
using namespace herald::rma;
using wire::RmaKind;

namespace {

struct Case {
  Conflicts conflicts{7};
  std::byte memory[400];
  std::string add(int origin, RmaKind kind, std::size_t at, std::size_t bytes) {
    return conflicts.add({origin, kind, at, static_cast<std::int64_t>(bytes)},
                         type::Cursor::bytes(memory + at, bytes));
  }
};

}  // namespace

TEST(RmaConflicts, puts_overlap_with_nothing) {
  for (const RmaKind kind : {RmaKind::put, RmaKind::get, RmaKind::accumulate, RmaKind::compare_swap}) {
    Case one;
    EXPECT_EQ(one.add(0, RmaKind::put, 100, 8), "");
    EXPECT_EQ(one.add(1, kind, 92, 8), "");
    EXPECT_EQ(one.add(1, kind, 108, 8), "");
    EXPECT_NE(one.add(1, kind, 107, 8), "");
    Case other;
    EXPECT_EQ(other.add(0, kind, 100, 8), "");
    EXPECT_NE(other.add(0, RmaKind::put, 100, 1), "") << "of the same rank, too";
  }
}

TEST(RmaConflicts, gets_and_accumulates_overlap_with_their_like) {
  Case one;
  EXPECT_EQ(one.add(0, RmaKind::get, 0, 8), "");
  EXPECT_EQ(one.add(1, RmaKind::get, 4, 8), "");
  EXPECT_EQ(one.add(0, RmaKind::accumulate, 100, 8), "");
  EXPECT_EQ(one.add(1, RmaKind::get_accumulate, 100, 8), "");
  EXPECT_EQ(one.add(2, RmaKind::compare_swap, 100, 8), "");
  EXPECT_NE(one.add(2, RmaKind::get, 100, 8), "");
}

TEST(RmaConflicts, the_text_names_both_accesses) {
  Case one;
  EXPECT_EQ(one.add(3, RmaKind::put, 16, 32), "");
  const std::string text = one.add(5, RmaKind::get, 40, 4);
  for (const char* word : {"get of rank 5", "from byte 40", "put of rank 3", "32 bytes", "memory of rank 7"})
    EXPECT_NE(text.find(word), std::string::npos) << word << " in " << text;
}

TEST(RmaConflicts, a_synchronisation_ends_the_accesses_of_its_rank) {
  Case one;
  EXPECT_EQ(one.add(0, RmaKind::put, 0, 8), "");
  EXPECT_EQ(one.add(1, RmaKind::put, 50, 8), "");
  one.conflicts.end(0);
  EXPECT_EQ(one.add(2, RmaKind::put, 0, 8), "");
  EXPECT_NE(one.add(2, RmaKind::put, 50, 8), "");
  one.conflicts.end_all();
  EXPECT_EQ(one.add(3, RmaKind::put, 0, 100), "");
}

TEST(RmaConflicts, scattered_accesses_may_interleave) {
  Case one;
  type::LayoutRef even;
  ASSERT_EQ(type::vector(10, 1, 2, type::basic_layout(type::Basic::c_int), even), Status::ok);
  const auto add = [&](std::size_t at) {
    return one.conflicts.add({0, RmaKind::put, at, 1}, type::Cursor(*even, one.memory + at, 1));
  };
  EXPECT_EQ(add(0), "");
  EXPECT_EQ(add(4), "");
  EXPECT_NE(add(8), "");
}
