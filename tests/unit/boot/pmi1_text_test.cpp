// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a value is returned shorter, longer or with other bytes; a piece is longer than the
// launcher accepts; a host map puts a rank on the wrong host, or a hostile one never ends.
#include "boot/pmi1_text.hpp"

#include <gtest/gtest.h>

#include "base/prng.hpp"

namespace herald::boot {

using Ranks = std::vector<int>;

TEST(Pmi1Text, fields_are_found_by_whole_name) {
  constexpr std::string_view line = "cmd=get_result rc=0 msg=success xvalue=no value=6869";
  EXPECT_EQ(field(line, "cmd"), "get_result");
  EXPECT_EQ(field(line, "value"), "6869");
  EXPECT_EQ(field(line, "val"), std::nullopt);
  EXPECT_EQ(field("", "cmd"), std::nullopt);
  EXPECT_EQ(field("cmd", "cmd"), std::nullopt);
  EXPECT_EQ(field("  cmd=x  rc= ", "cmd"), "x");
  EXPECT_EQ(field("  cmd=x  rc= ", "rc"), "");
}

TEST(Pmi1Text, keys_that_would_break_the_line_are_refused) {
  EXPECT_TRUE(is_plain_key("card"));
  for (const char* bad : {"", "a b", "a=b", "a\nb", "a;b", "\x7f", "\xc3\xa4"})
    EXPECT_FALSE(is_plain_key(bad)) << bad;
}

// True if `pieces` reassemble to `value` at the last piece and not before.
bool joins(const std::vector<std::string>& pieces, const std::string& value) {
  PieceJoiner joiner;
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    auto expected = i + 1 == pieces.size() ? PieceJoiner::State::complete : PieceJoiner::State::more;
    if (joiner.add(pieces[i]) != expected) return false;
  }
  return joiner.value() == value;
}

TEST(Pmi1Text, the_layout_of_pieces_is_as_documented) {
  EXPECT_EQ(cut_value("hello", 100), std::vector<std::string>({"5.68656c6c6f"}));
  EXPECT_EQ(cut_value("", 100), std::vector<std::string>({"0."}));
}

TEST(Pmi1Text, any_bytes_of_any_length_survive_any_piece_length) {
  Prng prng{20250601};
  for (std::size_t length = 0; length < 600; ++length) {
    std::string value;
    for (std::size_t i = 0; i < length; ++i) value += static_cast<char>(prng.next());
    for (std::size_t longest : {kShortestPiece, kShortestPiece + 1, std::size_t{333}, std::size_t{1023}}) {
      auto pieces = cut_value(value, longest);
      for (const auto& piece : pieces) ASSERT_LE(piece.size(), longest);
      ASSERT_TRUE(joins(pieces, value)) << length << " bytes in pieces of " << longest;
    }
  }
}

TEST(Pmi1Text, broken_pieces_are_detected) {
  auto add = [](std::vector<std::string> pieces) {
    PieceJoiner joiner;
    auto state = PieceJoiner::State::more;
    for (auto& piece : pieces) state = joiner.add(piece);
    return state;
  };
  using State = PieceJoiner::State;
  EXPECT_EQ(add({"2.6869"}), State::complete);
  EXPECT_EQ(add({""}), State::broken);
  EXPECT_EQ(add({"6869"}), State::broken);  // no length
  EXPECT_EQ(add({".6869"}), State::broken);
  EXPECT_EQ(add({"-1.6869"}), State::broken);
  EXPECT_EQ(add({"2.686"}), State::broken);       // half a byte
  EXPECT_EQ(add({"2.68zz"}), State::broken);      // not hex
  EXPECT_EQ(add({"1.6869"}), State::broken);      // more than announced
  EXPECT_EQ(add({"4.6869", ""}), State::broken);  // would never end
  EXPECT_EQ(add({"99999999999999999999999.68"}), State::broken);
}

TEST(RankRanges, rows_have_a_stride) {
  const auto text = [](std::vector<int> ranks) { return rank_ranges(ranks); };
  EXPECT_EQ(text({}), "");
  EXPECT_EQ(text({5}), "5");
  EXPECT_EQ(text({0, 1}), "0-1");
  EXPECT_EQ(text({1, 9}), "1,9");
  EXPECT_EQ(text({0, 1, 2, 3, 8, 16, 24, 50}), "0-3,8-24:8,50");
}

TEST(HostMap, one_host_holds_all) {
  EXPECT_EQ(ranks_on_my_host("(vector,(0,1,4))", 2, 4), Ranks({0, 1, 2, 3}));
  EXPECT_EQ(ranks_on_my_host("(vector, (0, 1, 4))", 2, 4), Ranks({0, 1, 2, 3}));
}

TEST(HostMap, blocks_fill_hosts_in_turn) {
  EXPECT_EQ(ranks_on_my_host("(vector,(0,4,2))", 5, 8), Ranks({4, 5}));
  EXPECT_EQ(ranks_on_my_host("(vector,(0,2,2),(2,1,3))", 6, 7), Ranks({4, 5, 6}));
}

TEST(HostMap, blocks_repeat_until_every_rank_has_a_host) {
  EXPECT_EQ(ranks_on_my_host("(vector,(0,2,1))", 1, 6), Ranks({1, 3, 5}));          // round robin
  EXPECT_EQ(ranks_on_my_host("(vector,(0,3,2))", 0, 10), Ranks({0, 1, 6, 7}));      // second round incomplete
  EXPECT_EQ(ranks_on_my_host("(vector,(0,1,2),(0,1,1))", 2, 3), Ranks({0, 1, 2}));  // the same host twice
}

TEST(HostMap, malformed_maps_give_no_ranks) {
  for (const char* bad :
       {"", "vector", "(vector", "(vector)", "(vector,)", "(vector,(0,1))", "(vector,(0,1,2)",
        "(vector,(0,1,2)))", "(vector,(-1,1,2))", "(vector,(0,0,0))", "(vector,(0,1,0))",
        "(vector,(0,99999999999,1))", "(matrix,(0,1,2))", "(vector,(a,b,c))"})
    EXPECT_TRUE(ranks_on_my_host(bad, 0, 2).empty()) << bad;
  EXPECT_TRUE(ranks_on_my_host("(vector,(0,1,4))", 4, 4).empty());
  EXPECT_TRUE(ranks_on_my_host("(vector,(0,1,4))", -1, 4).empty());
}

TEST(HostMap, extreme_numbers_neither_overflow_nor_loop) {
  EXPECT_EQ(ranks_on_my_host("(vector,(2147483647,2147483647,1))", 1, 3), Ranks({1}));
  EXPECT_EQ(ranks_on_my_host("(vector,(0,0,5),(0,1,2147483647))", 1, 3), Ranks({0, 1, 2}));
}

}  // namespace herald::boot
