// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: lines of two ranks mix, bytes are lost or added, a prompt is not written, memory grows
// with a line without end, the output of a waiting rank never appears.
#include <gtest/gtest.h>

#include <utility>

#include "launch/output.hpp"

namespace herald::launch {
namespace {

std::string take(OutputMux& mux) { return std::exchange(mux.ready(), {}); }

TEST(Output, only_complete_lines_are_written) {
  OutputMux mux(2, false, true);
  mux.on_bytes(0, "he", 0);
  mux.on_bytes(1, "one\ntw", 0);
  mux.on_bytes(0, "llo\n", 1);
  mux.on_bytes(1, "o\n", 1);
  EXPECT_EQ(take(mux), "one\nhello\ntwo\n");
}

TEST(Output, incomplete_line_is_written_when_its_rank_exits) {
  OutputMux mux(2, false, true);
  mux.on_bytes(1, "no newline", 0);
  EXPECT_EQ(take(mux), "");
  mux.on_end(1);
  EXPECT_EQ(take(mux), "no newline");
}

TEST(Output, every_line_has_one_label) {
  OutputMux mux(12, true, true);
  mux.on_bytes(11, "a\n\nb", 0);
  mux.on_bytes(3, "c\n", 0);
  mux.on_bytes(11, "b\n", 0);
  EXPECT_EQ(take(mux), "[11] a\n[11] \n[3] c\n[11] bb\n");
}

TEST(Output, prompt_is_written_after_a_pause_and_its_line_continues) {
  OutputMux mux(2, true, true);
  mux.on_bytes(0, "name? ", 100);
  ASSERT_TRUE(mux.next_deadline());
  EXPECT_EQ(*mux.next_deadline(), 100 + kPromptPause);
  mux.on_time(100 + kPromptPause - 1);
  EXPECT_EQ(take(mux), "");
  mux.on_time(100 + kPromptPause);
  EXPECT_EQ(take(mux), "[0] name? ");
  EXPECT_FALSE(mux.next_deadline());
  mux.on_bytes(0, "thanks\n", 1000);
  EXPECT_EQ(take(mux), "thanks\n");
}

TEST(Output, labelled_output_of_another_rank_starts_a_new_line) {
  OutputMux mux(2, true, true);
  mux.on_bytes(0, "name? ", 0);
  mux.on_time(kPromptPause);
  mux.on_bytes(1, "x\n", 300);
  mux.on_bytes(0, "more\n", 301);
  EXPECT_EQ(take(mux), "[0] name? \n[1] x\n[0] more\n");
}

TEST(Output, prompts_are_not_written_to_files) {
  OutputMux mux(1, false, false);
  mux.on_bytes(0, "half", 0);
  EXPECT_FALSE(mux.next_deadline());
  mux.on_time(1000000);
  EXPECT_EQ(take(mux), "");
  mux.on_all_ended();
  EXPECT_EQ(take(mux), "half");
}

TEST(Output, huge_line_is_written_in_pieces_without_interleaving) {
  OutputMux mux(3, false, true);
  const std::string piece(kLineLimit + 1, 'x');
  mux.on_bytes(0, piece, 0);
  EXPECT_EQ(take(mux), piece);
  EXPECT_FALSE(mux.accepts(1));
  mux.on_bytes(1, "other\n", 0);
  mux.on_bytes(2, "third", 0);
  mux.on_end(2);
  EXPECT_EQ(take(mux), "");
  mux.on_bytes(0, "end\nnext", 1);
  EXPECT_EQ(take(mux), "end\nother\nthird");
  EXPECT_TRUE(mux.accepts(1));
}

TEST(Output, huge_line_of_an_idle_or_exited_rank_blocks_no_other) {
  OutputMux mux(2, false, false);
  mux.on_bytes(0, std::string(kLineLimit + 1, 'x'), 0);
  mux.on_bytes(1, "other\n", 0);
  take(mux);
  ASSERT_TRUE(mux.next_deadline());
  mux.on_time(*mux.next_deadline());
  EXPECT_EQ(take(mux), "other\n");
  mux.on_bytes(0, std::string(kLineLimit + 1, 'y'), 1000);
  mux.on_bytes(1, "last\n", 1000);
  take(mux);
  mux.on_end(0);
  EXPECT_EQ(take(mux), "last\n");
}

TEST(Output, a_full_buffer_stops_reading) {
  OutputMux mux(1, false, true);
  mux.on_bytes(0, std::string(kReadyLimit, '\n'), 0);
  EXPECT_FALSE(mux.accepts(0));
  take(mux);
  EXPECT_TRUE(mux.accepts(0));
}

TEST(Output, messages_of_mpiexec_start_a_new_line) {
  OutputMux mux(1, false, true);
  mux.on_bytes(0, "half", 0);
  mux.on_time(kPromptPause);
  mux.add_message("mpiexec: note");
  EXPECT_EQ(take(mux), "half\nmpiexec: note\n");
}

}  // namespace
}  // namespace herald::launch
