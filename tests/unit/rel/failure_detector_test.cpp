// SPDX-License-Identifier: BSD-3-Clause
// What could go wrong: a peer that owes no answer counts as dead; a dead one never does, or too early; time
// in which the local process was stopped counts as silence of the peer.
#include "rel/failure_detector.hpp"

#include <gtest/gtest.h>

namespace herald::rel {
namespace {

constexpr Duration kDetect = milliseconds(1000), kGiveUp = give_up_after(kDetect);
constexpr Instant kStart{5'000'000'000};

TEST(FailureDetector, a_peer_that_owes_no_answer_is_never_dead) {
  FailureDetector detector(kDetect);
  EXPECT_EQ(detector.deadline(), kNever);
  detector.on_news(kStart);
  EXPECT_EQ(detector.deadline(), kNever);
  EXPECT_FALSE(detector.is_dead(kStart + milliseconds(1'000'000)));
}

TEST(FailureDetector, the_oldest_open_question_counts) {
  FailureDetector detector(kDetect);
  detector.on_asked(kStart);
  detector.on_asked(kStart + milliseconds(500));
  EXPECT_EQ(detector.deadline(), kStart + kGiveUp);
  EXPECT_FALSE(detector.is_dead(kStart + kDetect));
  EXPECT_TRUE(detector.is_dead(kStart + kGiveUp));
}

TEST(FailureDetector, news_closes_all_questions_and_a_sign_of_life_only_extends_them) {
  FailureDetector detector(kDetect);
  detector.on_asked(kStart);
  detector.on_probe(kStart);
  detector.on_sign_of_life(kStart + milliseconds(300));
  EXPECT_TRUE(detector.is_probing());
  EXPECT_EQ(detector.deadline(), kStart + milliseconds(300) + kGiveUp);
  detector.on_news(kStart + milliseconds(400));
  EXPECT_FALSE(detector.is_probing());
  EXPECT_EQ(detector.deadline(), kNever);
}

TEST(FailureDetector, a_probe_stays_open_when_no_packet_is_outstanding) {
  FailureDetector detector(kDetect);
  detector.on_asked(kStart);
  detector.on_nothing_outstanding();
  EXPECT_EQ(detector.deadline(), kNever);
  detector.on_asked(kStart);
  detector.on_probe(kStart);
  detector.on_nothing_outstanding();
  EXPECT_EQ(detector.deadline(), kStart + kGiveUp);
  EXPECT_GT(detector.next_probe(), kStart);
  EXPECT_LT(detector.next_probe(), detector.deadline());
}

TEST(FailureDetector, a_peer_is_given_up_soon_after_the_detection_time) {
  EXPECT_EQ(give_up_after(milliseconds(1000)), milliseconds(1100));
  EXPECT_EQ(give_up_after(milliseconds(60'000)), milliseconds(60'300));
}

// What could go wrong: a dead process is waited for although its host refuses packets; a live one is lost
// since a firewall was loaded, a stranger forged ICMP errors, or it only has no TCP port.
TEST(FailureDetector, refusals_in_a_row_by_udp_and_tcp_end_the_wait) {
  FailureDetector detector(kDetect);
  detector.on_news(kStart);
  for (int i = 0; i < 9; ++i) detector.on_refused(true);  // it owes no answer
  EXPECT_FALSE(detector.is_refused());
  detector.on_asked(kStart + milliseconds(1));
  for (int i = 0; i < 9; ++i) detector.on_refused(false);  // by TCP only
  EXPECT_FALSE(detector.is_dead(kStart + milliseconds(5)));
  detector.on_refused(true);
  EXPECT_TRUE(detector.is_refused());
  EXPECT_TRUE(detector.is_dead(kStart + milliseconds(5)));
}

TEST(FailureDetector, news_between_refusals_proves_life) {
  FailureDetector detector(kDetect);
  for (int i = 0; i < 9; ++i) {
    detector.on_asked(kStart + milliseconds(i));
    detector.on_refused(true);
    detector.on_refused(true);
    EXPECT_FALSE(detector.is_dead(kStart + milliseconds(i)));
    detector.on_news(kStart + milliseconds(i));
  }
  EXPECT_EQ(detector.deadline(), kNever);
}

TEST(FailureDetector, a_peer_with_recent_news_is_not_silent) {
  FailureDetector detector(kDetect);
  EXPECT_TRUE(detector.is_silent(kStart));
  detector.on_news(kStart);
  EXPECT_FALSE(detector.is_silent(kStart + milliseconds(100)));
  EXPECT_TRUE(detector.is_silent(kStart + milliseconds(200)));
}

TEST(FailureDetector, a_clock_gap_does_not_count_as_silence) {
  FailureDetector detector(kDetect);
  detector.on_asked(kStart);
  const Duration gap = milliseconds(60'000);
  const Instant now = kStart + gap;
  detector.on_clock_gap(now, gap);
  EXPECT_FALSE(detector.is_dead(now));
  EXPECT_TRUE(detector.is_dead(now + kGiveUp));
}

}  // namespace
}  // namespace herald::rel
